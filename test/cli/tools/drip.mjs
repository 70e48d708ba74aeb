/** As a tool: logs its input, throws it and returns it. As a program: writes each argument, turn by turn, to both streams. */
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

// biome-ignore lint/style/noDefaultExport: a tool module
export default (words) => {
  for (const word of words) console.log(word);
  return { words, [words[0]]: 1 };
};

export function complain(words) {
  throw new Error(words.join(' '));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const pieces = process.argv.slice(2);
  const next = () => {
    const piece = pieces.shift();
    if (piece === undefined) return;
    for (const descriptor of [1, 2]) writeSync(descriptor, piece);
    setTimeout(next, 5);
  };
  next();
}
