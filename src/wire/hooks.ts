/**
 * The hooks of an isolate as its host may ask them: what comes back is what was promised, or an error.
 *
 * Invariant: nothing of an answer is handed on unchecked, since user code can reach the port and answer what it likes.
 * Deliberately absent: the calls themselves (`channel.ts`), and how long an answer is waited for.
 */
import type { IsolateHooks } from './protocol.ts';
import { areFindings } from './records.ts';

export function checkedHooks(asked: IsolateHooks): IsolateHooks {
  return {
    async reset(seq) {
      const answer: unknown = await asked.reset(seq);
      const { findings } = (answer ?? {}) as { findings?: unknown };
      if (!areFindings(findings)) throw new Error('the isolate answered with no list of findings');
      return { findings };
    },
    healthCheck: (seq) => asked.healthCheck(seq),
  };
}
