/** Looks: what a lease leaves behind is told, what passes by itself is not. */
import { describe, expect, it } from 'vitest';
import { openFar } from './far-host.ts';

describe('clean patterns', () => {
  it.each(['files', 'fetching', 'shortTimer', 'childAwaited', 'childMissing', 'nestedAwaited'])(
    'leave no finding that condemns, five times over: %s',
    async (name) => {
      const far = await openFar();
      for (let turn = 0; turn < 5; turn += 1) {
        const kinds = await far.findings('residue', name);
        expect(kinds.filter((kind) => kind !== 'global-symbol-added')).toEqual([]);
      }
    },
  );
});

describe('residue', () => {
  it.each([
    ['interval', 'residual-handle'],
    ['server', 'residual-handle'],
    ['nested', 'nested-thread'],
    ['child', 'child-process'],
    ['global', 'global-added'],
    ['symbolGlobal', 'global-symbol-added'],
    ['prototypeKey', 'intrinsic-changed'],
    ['patchFs', 'intrinsic-changed'],
    ['listener', 'process-listener'],
    ['removeListeners', 'listener-removed'],
  ])('of %s is found as %s', async (name, kind) => {
    const far = await openFar();
    expect(await far.findings('residue', 'files')).toEqual([]);
    expect(await far.findings('residue', name)).toContain(kind);
  });

  it.each([
    ['hiddenGlobal', 'global-added'],
    ['prepareStackTrace', 'prepare-stack-trace-changed'],
  ])('that only a full look sees is found each time when asked for: %s', async (name, kind) => {
    const far = await openFar({ full: 'every' });
    expect(await far.findings('residue', name)).toEqual([kind]);
  });

  it('in the environment is told by name and put back', async () => {
    const far = await openFar({ full: 'every' });
    const { seq } = await far.run('residue', 'env');
    const { findings } = await far.looked(seq);
    expect(findings.map(({ kind, detail }) => `${kind} ${detail}`).sort()).toEqual([
      'env-changed ADDED',
      'env-changed HOME',
      'env-changed PATH',
    ]);
    expect((await far.run('residue', 'readEnv')).value).toEqual([null, false]);
  });

  it('never delays the record: settled comes first, then looked', async () => {
    const far = await openFar();
    const { seq, clean } = await far.run('residue', 'interval');
    await far.looked(seq);
    expect(clean).toBe(false);
    const kinds = far.records.filter((record) => 'seq' in record && record.seq === seq).map(({ t }) => t);
    expect(kinds.indexOf('settled')).toBeLessThan(kinds.indexOf('looked'));
  });
});

describe('the baseline', () => {
  it('takes in what a module changes while it loads', async () => {
    const far = await openFar({ full: 'every' });
    expect(await far.findings('changes-at-load', 'default')).toEqual([]);
    expect(await far.findings('changes-at-load', 'default')).toEqual([]);
    expect(await far.findings('residue', 'interval')).toEqual(['residual-handle']);
  });

  it('takes in nothing that an earlier lease changed unseen before a module loads', async () => {
    const far = await openFar({ stillClock: true });
    const module = 'data:text/javascript,export default (go) => { if (go) String.prototype.trim = () => 1; }';
    // A lease that loads is looked at fully; once loaded it is a short one.
    await far.run('', 'default', false, { module });
    const { clean } = await far.run('', 'default', true, { module });
    const { seq } = await far.run('changes-at-load', 'default');
    const { findings } = await far.looked(seq);
    expect({ clean, details: findings.map(({ detail }) => detail) }).toEqual({
      clean: true,
      details: ['String.prototype.trim'],
    });
  });
});

describe('what a short lease left unseen', () => {
  it.each([
    ['String.prototype.trim = () => 1', 'intrinsic-changed'],
    ['process.env.LEFT = 1', 'env-changed'],
  ])('is told once by the lease that loads a module next: %s', async (what, kind) => {
    const far = await openFar({ stillClock: true });
    const module = `data:text/javascript,export default (go) => { if (go) ${what}; }`;
    await far.looked((await far.run('', 'default', false, { module })).seq);
    expect((await far.run('', 'default', true, { module })).clean).toBe(true);
    const kinds: string[][] = [];
    for (const name of ['default', 'waiting', 'remaining']) {
      const { findings } = await far.looked((await far.run('plain', name)).seq);
      kinds.push(findings.map((finding) => finding.kind));
    }
    expect(kinds).toEqual([[kind], [], []]);
  });
});

describe('followed children', () => {
  it('are told with their pid before the call returns, also when a busy loop follows', async () => {
    const far = await openFar();
    const seq = far.start('residue', 'childThenBusy');
    const { pid, alive } = await far.until('child');
    expect(alive).toBe(true);
    expect(far.of('settled')).toEqual([]);
    far.stop(seq, 'cancel');
    await far.settled(seq);
    expect(() => process.kill(pid, 0)).not.toThrow();
  });

  it('are told again when they end', async () => {
    const far = await openFar();
    await far.run('residue', 'childAwaited');
    const [started, ended] = far.of('child');
    expect(ended).toMatchObject({ pid: started?.pid, alive: false });
  });
});
