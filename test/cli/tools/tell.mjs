// biome-ignore lint/style/noDefaultExport: a tool module
export default (_input, ctx) => {
  ctx.progress(0.5, 'half way');
  console.log('said by the tool');
  return { told: true };
};
