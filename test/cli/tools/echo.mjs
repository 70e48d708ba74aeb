// biome-ignore lint/style/noDefaultExport: a tool module
export default (input) => input;

export const big = () => ({ big: 2n ** 64n, bytes: new Uint8Array([1, 2, 3]), set: new Set([1]) });

export const circular = () => {
  const ring = {};
  ring.ring = ring;
  return ring;
};
