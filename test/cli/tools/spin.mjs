// Hears nothing.
// biome-ignore lint/style/noDefaultExport: a tool module
export default (_input, ctx) => {
  ctx.progress(0.1, 'spinning');
  for (;;);
};
