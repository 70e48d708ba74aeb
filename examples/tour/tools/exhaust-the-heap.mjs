// Many strings: V8 ends the thread alone. Some other ways to fill a heap abort the whole process; the README names them.
export default function exhaustTheHeap() {
  const kept = [];
  for (;;) kept.push(JSON.stringify({ entry: kept.length, of: 'a list that never ends and that nobody reads' }));
}
