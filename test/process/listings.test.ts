/**
 * What the platforms tell of processes, as text: a line of `/proc/PID/stat`, and a listing of macOS.
 *
 * Deliberately absent: real processes (`linux.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { survivorsIn } from '../../src/process/darwin.ts';
import { parseStat } from '../../src/process/proc.ts';

describe('parseStat', () => {
  const tail = Array.from({ length: 15 }, () => '0').join(' ');

  it('reads past a name that looks like the rest of the line', () => {
    expect(parseStat(`12 (a) Z 1 (b\n) S 5 6 7 ${tail} 99 0`)).toEqual({
      pid: 12,
      name: 'a) Z 1 (b?',
      state: 'S',
      parent: 5,
      group: 6,
      session: 7,
      startTime: 99,
    });
  });

  it.each(['', 'nothing', '12 (sh) S 1', '12 )(', `x (sh) S 5 6 7 ${tail} 99`])('takes no half a line: %j', (text) => {
    expect(parseStat(text)).toBe(null);
  });
});

describe('survivorsIn', () => {
  const listing = [
    '  100   100 Ss   Mon Nov  2 10:00:00 2026 /bin/sh -c x LEASEHOLD_RUN=1.0.a',
    '  101   100 Z    Mon Nov  2 10:00:00 2026 (sh)',
    '  102   102 S+   Mon Nov  2 10:00:01 2026 /usr/bin/sleep 45 LEASEHOLD_RUN=1.0.a',
    '  103   103 S    Mon Nov  2 10:00:01 2026 /usr/bin/sleep 45 LEASEHOLD_RUN=1.0.ab',
    '  104   104 S    Mon Nov  2 10:00:01 2026 /usr/bin/node x LEASEHOLD_RUN=2.0.b,1.0.a PATH=/bin',
    'no line of it',
  ].join('\n');

  it('are members of the group and carriers of the marker, and no zombies', () => {
    expect(survivorsIn(listing, 100, '1.0.a')).toMatchObject([
      { pid: 100, name: 'sh', isMember: true },
      { pid: 102, name: 'sleep', isMember: false },
      { pid: 104, name: 'node', isMember: false },
    ]);
  });
});
