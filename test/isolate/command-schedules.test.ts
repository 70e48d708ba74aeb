/**
 * CommandTenure under any schedule of what a process, its group, its host and time may do.
 *
 * Invariant: a schedule is a word of letters, so that a found case can be read and replayed. Deliberately absent: single
 * cases (`command-bounds.test.ts`, `command-kill.test.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settle } from '../support/fake-clock.ts';
import { survivor } from '../support/process-fakes.ts';
import { polled, running } from './command-rig.ts';

const LETTERS = [
  'chunk',
  'exit',
  'pipes end',
  'group gone',
  'all gone',
  'zombie',
  'input breaks',
  'stop',
  'kill',
  '1 ms',
  '60 ms',
  '300 ms',
  '2100 ms',
] as const;
type Letter = (typeof LETTERS)[number];
/** killMs, the drain after a kill, sweepMs; time passes in steps, and each of these ends with one. */
const STEP_MS = 50;
const BOUND_MS = 2_000 + 500 + 500 + 3 * STEP_MS;

describe('a command', () => {
  it('for any schedule answers, drains and looks once, in order, and is gone once', async () => {
    const words = fc.array(fc.constantFrom(...LETTERS), { maxLength: 12 });
    const orphans = fc.constantFrom('kill', 'allow', 'fail');
    await fc.assert(
      fc.asyncProperty(words, orphans, async (word, onOrphans) => {
        const { backend, clock, process, ran, advance } = running({ onOrphans });
        backend.group = 'alive';
        backend.found = async () => [survivor({ isMember: true, holdsPipe: true })];
        let [hasExited, isBroken] = [false, false];
        backend.reach = () => (backend.group === 'gone' ? 'gone' : 'sent');
        const exit = () => {
          if (!hasExited) process.end(0);
          hasExited = true;
        };
        const act: Readonly<Record<Letter, () => void | Promise<void>>> = {
          chunk: () => process.write('x'),
          exit,
          'pipes end': () => process.endPipes(),
          'group gone': () => {
            backend.group = 'gone';
          },
          'all gone': () => {
            backend.group = 'gone';
            backend.found = async () => [];
          },
          zombie: () => {
            backend.ended = true;
          },
          'input breaks': () => {
            if (!isBroken) process.breakStdin(new RangeError('broke'));
            isBroken = true;
          },
          stop: () => ran.stop(),
          kill: () => ran.tenure.terminate(),
          '1 ms': () => advance(1),
          '60 ms': () => advance(60),
          '300 ms': () => advance(300),
          '2100 ms': () => advance(2_100),
        };
        for (const letter of word) {
          await act[letter]();
          await settle();
        }
        ran.tenure.terminate();
        for (let at = 0; at <= BOUND_MS; at += STEP_MS) await advance(STEP_MS);
        expect(ran.all('looked').length, 'told by its bound').toBe(1);
        await act['all gone']();
        exit();
        process.endPipes();
        await polled();
        await advance(60_000);

        const tags = ran.records.map(({ t }) => t);
        for (const tag of ['started', 'settled', 'drained', 'looked']) {
          expect(
            tags.filter((told) => told === tag),
            tag,
          ).toHaveLength(1);
        }
        expect(tags.indexOf('looked')).toBeGreaterThan(tags.indexOf('drained'));
        expect(tags.lastIndexOf('output')).toBeLessThan(tags.indexOf('drained'));
        expect(ran.exit).not.toBe(null);
        expect(clock.pending).toBe(0);
        expect(backend.sent.filter((signal) => signal === 'SIGTERM').length).toBeLessThanOrEqual(1);
        expect(process.isClosed).toBe(true);
      }),
    );
  });
});
