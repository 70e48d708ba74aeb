// A plugin that behaves.
export default (text) => text.toUpperCase();
