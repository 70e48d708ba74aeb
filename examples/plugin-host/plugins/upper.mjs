export default ({ text }) => text.toUpperCase();
