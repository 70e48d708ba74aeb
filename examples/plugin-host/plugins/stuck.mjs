// A plugin that hangs.
export default () => {
  for (;;);
};
