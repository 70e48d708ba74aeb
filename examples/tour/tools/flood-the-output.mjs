export default function floodTheOutput() {
  for (let line = 1; line <= 60_000; line += 1) console.log(`line ${line}: nobody asked for this much`);
  return 'done';
}
