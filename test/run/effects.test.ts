/** Effects: what is let go, what is refused, and what the log then says, also when the log fails. */
import { describe, expect, it } from 'vitest';
import type { EventLog, LogEventKind } from '../../src/model/stores.ts';
import type { Effects as Kind } from '../../src/model/tool.ts';
import type { Redactor } from '../../src/output/redaction.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import type { Answer } from '../../src/run/attempt-setting.ts';
import { Effects } from '../../src/run/effects.ts';
import { settle } from '../support/fake-clock.ts';
import { FAILURE } from '../support/fake-tenure.ts';
import { attemptParts, entriesOf } from './attempt-parts.ts';

const CHARGE = { name: 'charge', key: null, onAmbiguous: 'hold' };
const VALUE: Answer = { ok: true, value: 1 };
const threw = (name = 'Error'): Answer => ({ ok: false, failure: { ...FAILURE, name } });

function opened(kind: Kind = 'declared', eventLog: EventLog = memoryEventLog(), redactor?: Redactor) {
  const parts = attemptParts({ eventLog, ...(redactor === undefined ? {} : { redactor }) }, kind);
  const gate = { running: true, open: true };
  void parts.journal.write('prepared', '', {});
  void parts.journal.write('admitted', '', {});
  const effects = new Effects(parts.setting, parts.journal, {
    mayDispatch: () => gate.running,
    isOpen: () => gate.open,
  });
  const states = () => parts.journal.intents().map(({ name, state }) => `${name} ${state}`);
  return { ...parts, gate, effects, states };
}

/** The log in memory, but for entries of one kind. */
function logThat(
  kind: LogEventKind,
  act: (record: () => ReturnType<EventLog['append']>) => ReturnType<EventLog['append']>,
): EventLog {
  const log = memoryEventLog();
  return {
    durability: 'none',
    read: (filter) => log.read(filter),
    openIntents: () => log.openIntents(),
    append: (event) => (event.kind === kind ? act(() => log.append(event)) : log.append(event)),
  };
}
const diskFull = () => {
  throw new Error('disk full');
};

describe('dispatch', () => {
  it('records the intent, then grants its key', async () => {
    const { effects, setting, states } = opened();
    const key = await effects.dispatch(1, CHARGE);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(states()).toEqual(['charge dispatched']);
    expect((await entriesOf(setting)).at(-1)).toMatchObject({
      kind: 'dispatched',
      intent: 'charge',
      body: { key, onAmbiguous: 'hold', tool: 'fake' },
    });
  });

  it("keeps the tool's own key", async () => {
    expect(await opened().effects.dispatch(1, { ...CHARGE, key: 'k-7' })).toBe('k-7');
  });

  it.each(['hold', 'reconcile', 'rerun-same-key', 'assume-applied'])(
    'takes an onAmbiguous of %s',
    async (onAmbiguous) => {
      const { effects, setting } = opened();
      await effects.dispatch(1, { ...CHARGE, onAmbiguous });
      expect((await entriesOf(setting)).at(-1)?.body).toMatchObject({ onAmbiguous });
    },
  );

  it('hides known values in name and key, except from the effect itself', async () => {
    const { effects, journal, setting } = opened();
    expect(await effects.dispatch(1, { ...CHARGE, name: 'pay hunter2', key: 'k-hunter2' })).toBe('k-hunter2');
    await effects.settle(1, 'pay hunter2', 'applied');
    expect(journal.intents()).toMatchObject([{ name: 'pay [redacted]', key: 'k-[redacted]', state: 'applied' }]);
    expect(JSON.stringify(await entriesOf(setting))).not.toContain('hunter2');
  });

  it('keeps two names apart that differ in what is hidden only', async () => {
    const { redactor } = attemptParts().setting;
    const { effects, states } = opened('declared', memoryEventLog(), redactor.with(['s3same']) ?? undefined);
    for (const name of ['pay hunter2', 'pay s3same']) await effects.dispatch(1, { ...CHARGE, name });
    await effects.settle(1, 'pay s3same', 'applied');
    expect(states()).toEqual(['pay [redacted] dispatched', 'pay [redacted] #2 applied']);
  });

  it.each([
    ["of a tool that declares 'none'", 'none', CHARGE, /declares effects: 'none'/],
    ['without a name', 'declared', { ...CHARGE, name: '' }, /needs a name/],
    ['with a name that is no string', 'declared', { ...CHARGE, name: 7 as unknown as string }, /needs a name/],
    ['with an endless name', 'declared', { ...CHARGE, name: 'n'.repeat(257) }, /needs a name of 1 to 256/],
    ['with an empty key', 'declared', { ...CHARGE, key: '' }, /the key of an intent is a string of 1 to 256/],
    ['with an endless key', 'declared', { ...CHARGE, key: 'k'.repeat(257) }, /the key of an intent/],
    ['with a key that is no string', 'declared', { ...CHARGE, key: 7 as unknown as string }, /the key of an intent/],
    ['with an unknown onAmbiguous', 'declared', { ...CHARGE, onAmbiguous: 'bogus' }, /onAmbiguous is one of hold, /],
  ] as const)('refuses an effect %s, and records nothing', async (_, kind, intent, words) => {
    const { effects, states } = opened(kind);
    await expect(effects.dispatch(1, intent)).rejects.toMatchObject({
      leaseholdCode: 'ERR_LEASEHOLD_INTENT_REFUSED',
      message: expect.stringMatching(words),
    });
    expect(states()).toEqual([]);
  });

  it('refuses after a stop, and records nothing', async () => {
    const { effects, gate, states } = opened();
    gate.running = false;
    await expect(effects.dispatch(1, CHARGE)).rejects.toThrow(/a stop came first/);
    expect(states()).toEqual([]);
  });

  it('refuses when the stop comes between the record and the grant, and says so', async () => {
    let record = (): void => undefined;
    const slow = logThat('dispatched', (append) => new Promise((resolve) => (record = () => resolve(append()))));
    const { effects, gate, states } = opened('declared', slow);
    const granted = effects.dispatch(1, CHARGE);
    gate.running = false;
    record();
    await expect(granted).rejects.toThrow(/a stop came first/);
    expect(states()).toEqual(['charge not-applied']);
  });

  it.each([
    ['throws', diskFull],
    ['rejects', () => Promise.reject(new Error('disk full'))],
  ])('refuses when the log %s', async (_, act) => {
    const { effects, states } = opened('declared', logThat('dispatched', act));
    await expect(effects.dispatch(1, CHARGE)).rejects.toMatchObject({
      message: expect.stringMatching(/could not be recorded/),
      cause: new Error('disk full'),
    });
    expect(states()).toEqual([]);
  });

  it('grants nothing while the log hangs, and keeps the end of the attempt waiting', async () => {
    const { effects, journal, states } = opened(
      'declared',
      logThat('dispatched', () => new Promise(() => {})),
    );
    let ended = false;
    void effects.dispatch(1, CHARGE).finally(() => (ended = true));
    await settle();
    expect(ended).toBe(false);
    expect(states()).toEqual([]);
    expect(journal.untilAcknowledged()).toBeInstanceOf(Promise);
  });

  it('refuses a second intent of the same name', async () => {
    const { effects, states } = opened();
    await effects.dispatch(1, CHARGE);
    await expect(effects.dispatch(1, CHARGE)).rejects.toThrow(/could not be recorded/);
    expect(states()).toEqual(['charge dispatched']);
  });
});

describe('settle', () => {
  it.each(['applied', 'not-applied', 'failed'] as const)('records that an effect is %s', async (state) => {
    const { effects, states } = opened();
    await effects.dispatch(1, CHARGE);
    await effects.settle(1, 'charge', state);
    expect(states()).toEqual([`charge ${state}`]);
  });

  it('leaves an effect open whose end proves nothing', async () => {
    const { effects, states } = opened();
    await effects.dispatch(1, CHARGE);
    await effects.settle(1, 'charge', 'open');
    expect(states()).toEqual(['charge dispatched']);
  });

  it('refuses an end that comes after the attempt, and the intent stays open', async () => {
    const { effects, gate, journal, setting, states } = opened();
    await effects.dispatch(1, CHARGE);
    gate.open = false;
    void journal.write('closed', '', {});
    await expect(effects.settle(1, 'charge', 'applied')).rejects.toThrow('is over');
    await expect(effects.getBlob(1, 'sha256:0')).rejects.toThrow('is over');
    expect(states()).toEqual(['charge dispatched']);
    expect((await entriesOf(setting)).at(-1)).toMatchObject({ kind: 'closed' });
  });

  it('rejects when the log refuses, and the intent stays open', async () => {
    const { effects, states } = opened('declared', logThat('settled', diskFull));
    await effects.dispatch(1, CHARGE);
    await expect(effects.settle(1, 'charge', 'applied')).rejects.toThrow('disk full');
    expect(states()).toEqual(['charge dispatched']);
  });
});

describe('the body of an opaque tool', () => {
  it('is an intent under the name of the tool, dispatched once', async () => {
    const { effects, setting, states } = opened('opaque');
    expect(effects.dispatchBody()).toBeUndefined();
    expect(effects.dispatchBody()).toBeUndefined();
    expect(states()).toEqual(['fake dispatched']);
    expect((await entriesOf(setting)).filter(({ kind }) => kind === 'dispatched')).toHaveLength(1);
  });

  it.each(['none', 'declared'] as const)('is none for effects %j', (kind) => {
    const { effects, states } = opened(kind);
    void effects.dispatchBody();
    effects.settleBody(VALUE, false);
    expect(states()).toEqual([]);
  });

  it.each([
    ['a value', VALUE, false, 'applied'],
    ['a value after a stop', VALUE, true, 'applied'],
    ['a throw', threw(), false, 'failed'],
    ['a throw after a stop', threw(), true, 'dispatched'],
    ['a NotAppliedError', threw('NotAppliedError'), false, 'not-applied'],
    ['a NotAppliedError after a stop', threw('NotAppliedError'), true, 'not-applied'],
  ] as const)('settles by %s', (_, answer, stopped, state) => {
    const { effects, states } = opened('opaque');
    void effects.dispatchBody();
    effects.settleBody(answer, stopped);
    expect(states()).toEqual([`fake ${state}`]);
  });

  it('is not applied when its run was taken back, and settles only once', () => {
    const { effects, states } = opened('opaque');
    void effects.dispatchBody();
    void effects.withdrawBody();
    effects.settleBody(VALUE, false);
    expect(states()).toEqual(['fake not-applied']);
  });

  it('is not dispatched while the log hangs, so there is nothing to settle', async () => {
    const { effects, states } = opened(
      'opaque',
      logThat('dispatched', () => new Promise(() => {})),
    );
    expect(effects.dispatchBody()).toBeInstanceOf(Promise);
    void effects.withdrawBody();
    await settle();
    expect(states()).toEqual([]);
  });

  it('stays open when the log refuses its end', async () => {
    const refuses = logThat('settled', () => Promise.reject(new Error('disk full')));
    const { effects, states } = opened('opaque', refuses);
    void effects.dispatchBody();
    effects.settleBody(VALUE, false);
    await settle();
    expect(states()).toEqual(['fake dispatched']);
  });
});

describe('blobs', () => {
  it("are kept under the attempt's tenant", async () => {
    const { effects, setting } = opened();
    const digest = await effects.putBlob(1, Buffer.from('page'));
    expect(Buffer.from(await effects.getBlob(1, digest)).toString()).toBe('page');
    await expect(setting.blobs.get('other', digest)).rejects.toThrow();
  });
});
