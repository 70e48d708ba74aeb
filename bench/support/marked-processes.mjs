// The processes that carry a mark in their environment, by Linux's `/proc`.
//
// What a run started inherits the mark, whatever group or session it is in. Nothing without it is ever signalled.
import { readdirSync, readFileSync } from 'node:fs';

/** `{ pid, name }` of those that are alive; zombies are not. */
export function marked(mark) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark)) return [];
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const [name, rest] = [
          stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
          stat.slice(stat.lastIndexOf(')') + 2),
        ];
        return 'ZX'.includes(rest[0]) ? [] : [{ pid: Number(pid), name }];
      } catch {
        // It ended while it was looked at, or belongs to somebody else.
        return [];
      }
    });
}

/** Ends them all; one look is not enough where they start others meanwhile. */
export function endMarked(mark) {
  for (let pass = 0; pass < 5; pass += 1) {
    const left = marked(mark);
    if (left.length === 0) return;
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It was faster.
      }
    }
  }
}
