// A plugin that takes all the memory it gets.
export default () => {
  for (const all = []; ; ) all.push(new Array(100_000).fill({}));
};
