// Returns true once as many runs as expected are here at the same time, each in an isolate of its own.
export default function meetTheOthers({ seats, expected }, ctx) {
  const here = new Int32Array(seats);
  Atomics.add(here, 0, 1);
  while (Atomics.load(here, 0) < expected) if (ctx.stopRequested()) return false;
  return true;
}
