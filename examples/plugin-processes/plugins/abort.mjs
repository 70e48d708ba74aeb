// A plugin that aborts its process.
export default () => process.abort();
