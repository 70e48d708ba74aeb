/** Recovery over any record that a lost host may leave: everything is decided, nothing is claimed that is open, and once is enough. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reconciliation } from '../../src/model/recovery.ts';
import { begun, dispatched, type Entry, lostLog, recovered } from './lost-log.ts';

describe('recovery', () => {
  const anyAttempt = fc.record({
    effects: fc.array(
      fc.record({
        onAmbiguous: fc.constantFrom('hold', 'reconcile', 'rerun-same-key', 'assume-applied', 'bogus'),
        end: fc.constantFrom('applied', 'not-applied', 'failed', null),
      }),
      { maxLength: 3 },
    ),
    depth: fc.nat(3),
    opaque: fc.boolean(),
    status: fc.constantFrom('indeterminate', 'succeeded', 'cancelled', null),
    hadSecrets: fc.boolean(),
  });

  it('for any record decides every attempt, and again writes nothing', async () => {
    const verdict = fc.constantFrom<Reconciliation['verdict']>('applied', 'not-applied', 'unknown');
    await fc.assert(
      fc.asyncProperty(fc.array(anyAttempt, { maxLength: 6 }), verdict, async (attempts, answer) => {
        const entries = attempts.flatMap(({ effects, depth, opaque, status, hadSecrets }, index): Entry[] => {
          const id = `req-${index}`;
          const of = effects.flatMap(({ onAmbiguous, end }, place): Entry[] => {
            const intent = opaque && place === 0 ? '' : `effect-${place}`;
            const settled: Entry[] = end === null ? [] : [[id, 'settled', intent, { state: end }]];
            return [dispatched(id, onAmbiguous, intent, `key-${place}`), ...settled];
          });
          const closed: Entry[] = status === null ? [] : [[id, 'closed', '', { status }]];
          return [...begun(id, { hadSecrets }).slice(0, Math.max(1, depth)), ...(depth > 1 ? of : []), ...closed];
        });
        const log = lostLog(entries);
        const hooks = { 'effect-1': (): Reconciliation => ({ verdict: answer }) };
        const first = await recovered(log.eventLog, hooks);
        const all = await log.all();
        const open = new Set(all.map(({ requestId }) => requestId));
        for (const { requestId, kind } of all) if (kind === 'closed') open.delete(requestId);
        expect([...open]).toEqual([]);
        for (const { status, intents } of first.report.closed) {
          if (intents.some(({ state }) => state === 'dispatched')) expect(status).toBe('indeterminate');
        }
        for (const { requestId } of first.report.rerunnable) {
          expect(first.report.held.filter((held) => held.requestId === requestId)).toEqual([]);
        }
        await log.reopen();
        const second = await recovered(log.eventLog, hooks);
        expect(await log.written()).toEqual([]);
        expect(second.report).toMatchObject({ closed: [], reconciled: [], held: first.report.held });
      }),
      { numRuns: 200 },
    );
  });
});
