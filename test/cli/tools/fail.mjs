// biome-ignore lint/style/noDefaultExport: a tool module
export default () => {
  throw new RangeError('out of reach');
};
