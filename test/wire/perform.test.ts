/** performEffect: what a stop beside a refusal makes of it. */
import { describe, expect, it } from 'vitest';
import { performEffect } from '../../src/wire/perform.ts';

const INTENT = { name: 'send', key: null, onAmbiguous: 'hold' };
const REFUSED = new Error('a stop came first');
const STOP = new DOMException('stopped', 'AbortError');

/** Its grant is refused; meanwhile the run is stopped, or not. */
function refusedWhile(stopped: boolean) {
  let isStopped = false;
  const told: string[] = [];
  const calls = {
    dispatch: async () => {
      isStopped = stopped;
      throw REFUSED;
    },
    settle: async (_seq: number, _name: string, state: string) => void told.push(state),
  };
  const stop = { stopped: () => isStopped, reason: STOP };
  const effect = async () => void told.push('let go');
  return { told, performed: performEffect(calls, 1, INTENT, effect, stop) };
}

describe('an effect whose grant is refused', () => {
  it('ends by the stop that came meanwhile, as one that came before', async () => {
    const { told, performed } = refusedWhile(true);
    await expect(performed).rejects.toBe(STOP);
    expect(told).toEqual([]);
  });

  it('ends by the refusal where nothing stops the run', async () => {
    const { told, performed } = refusedWhile(false);
    await expect(performed).rejects.toBe(REFUSED);
    expect(told).toEqual([]);
  });
});
