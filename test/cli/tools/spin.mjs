// Hears nothing.
export default (_input, ctx) => {
  ctx.progress(0.1, 'spinning');
  for (;;);
};
