/** checkedHooks: answers of an isolate that are not what was promised. */
import { describe, expect, it } from 'vitest';
import { checkedHooks } from '../../src/wire/hooks.ts';
import type { IsolateHooks } from '../../src/wire/protocol.ts';

const answering = (answer: unknown) =>
  checkedHooks({ reset: async () => answer, healthCheck: async () => answer } as IsolateHooks);

describe('checkedHooks', () => {
  it.each([undefined, null, 5, {}, { findings: 5 }, { findings: 'x' }, { findings: [{ kind: 'killed', detail: 5 }] }])(
    'reject a reset that answers %j',
    async (answer) => {
      await expect(answering(answer).reset(1)).rejects.toThrow('no list of findings');
    },
  );

  it('pass on the findings of a reset, and nothing else', async () => {
    const findings = [{ kind: 'env-changed', detail: 'PATH' }];
    expect(await answering({ findings, more: 1 }).reset(1)).toEqual({ findings });
  });
});
