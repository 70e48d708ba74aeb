// Waits for its stop and obeys it.
// biome-ignore lint/style/noDefaultExport: a tool module
export default (_input, ctx) =>
  new Promise((_resolve, reject) => {
    ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason), { once: true });
    ctx.progress(0.1, 'waiting');
  });
