/** Isolate: an end that left something behind. */
import { describe, expect, it } from 'vitest';
import { settle } from '../support/fake-clock.ts';
import { idleRig, isolateRig } from './isolate-rig.ts';

const EXIT = { code: null, signal: 'SIGSEGV', error: null };
const REASON = 'still alive: sleep (7)';

describe('an isolate that ended and left something behind', () => {
  it('tells its occupant at once, and is abandoned until that is gone', async () => {
    const { isolate, heard, clock, violations, run, ...rig } = await idleRig({ dies: () => false });
    await run();
    rig.remains(EXIT, REASON);
    expect(heard).toEqual(['started', 'keeper: quarantined', 'exit null']);
    expect(isolate.found).toEqual([{ kind: 'contaminated', detail: REASON }]);
    await clock.advance(100);
    expect(isolate.state).toBe('abandoned');
    rig.tenure.die(EXIT);
    await settle();
    expect(heard.slice(3)).toEqual(['keeper: abandoned', 'keeper: gone']);
    expect(violations).toEqual([]);
  });

  it('while it was being killed has its occupant told before it is abandoned', async () => {
    const { isolate, heard, clock, run, ...rig } = await idleRig({ dies: () => false });
    await run();
    isolate.condemn();
    rig.remains(EXIT, REASON);
    await clock.advance(100);
    expect(heard).toEqual(['started', 'keeper: quarantined', 'exit null', 'keeper: abandoned']);
  });

  it('reads what it said before', async () => {
    const { heard, run, ...rig } = await idleRig({ schedule: 'manual' });
    await run();
    rig.tenure.deliver();
    rig.tenure.value(1);
    rig.remains(EXIT, REASON);
    expect(heard).toEqual(['started', 'settled', 'keeper: quarantined', 'exit null']);
  });

  it('without having served is counted once', async () => {
    const { heard, ...rig } = await idleRig();
    rig.remains(EXIT, REASON);
    rig.tenure.die(EXIT);
    await settle();
    expect(heard).toEqual(['keeper: unused death', 'keeper: quarantined', 'keeper: gone']);
  });

  it('is set aside where no policy condemns for it', async () => {
    const { isolate, ...rig } = isolateRig({ dies: () => false }, () => false);
    await settle();
    rig.remains(EXIT, REASON);
    expect(isolate.state).toBe('quarantined');
  });
});
