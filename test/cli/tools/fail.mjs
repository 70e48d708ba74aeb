export default () => {
  throw new RangeError('out of reach');
};
