// A plugin that ends as one with a faulty native addon does.
export default () => {
  process.kill(process.pid, 'SIGSEGV');
  for (;;);
};
