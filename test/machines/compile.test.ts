/**
 * The compiler: equal to the interpreter on any chart and word, silent where XState would throw, and strict at load.
 *
 * Invariant: the interpreter is the truth that compiled logic is held against.
 * Deliberately absent: what the three charts mean.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, createActor, createMachine, fromTransition, raise, setup } from 'xstate';
import { compile, leaseLogic, leaseMachine, supervisorLogic } from '../../machines/index.ts';
import { lease, subjects } from './subjects.ts';
import { watched, wordsOf } from './table.ts';

/** What the snapshots of a machine tell over a word, to its end or its stop, interpreted and compiled. */
function histories(machine: AnyStateMachine, word: readonly { readonly type: string }[]) {
  return [machine, compile(machine)].map((logic) => {
    const actor = createActor(logic).start();
    const tell = () => {
      const { value, context, status, output, error } = actor.getSnapshot();
      return { value, context, status, output, error };
    };
    const history = [tell()];
    for (const event of word) {
      if (actor.getSnapshot().status === 'done') break;
      actor.send(event);
      history.push(tell());
    }
    actor.stop();
    return [...history, tell()];
  });
}

describe('compile', () => {
  for (const [name, subject] of Object.entries(subjects)) {
    it(`for any word, the ${name} chart compiled equals the ${name} chart interpreted`, () => {
      fc.assert(
        fc.property(wordsOf<string, { readonly type: string }>(subject), (word) => {
          const [interpreted, compiled] = histories(subject.machine, word);
          expect(compiled).toEqual(interpreted);
        }),
      );
    });
  }

  it('for any flat chart and any word, compiled equals interpreted', () => {
    const states = ['first', 'second', 'third', 'last'];
    const events = ['A', 'B', 'C', 'D'];
    const edge = fc.record(
      {
        target: fc.constantFrom(...states.map((state) => `.${state}`)),
        guard: fc.constantFrom('isEven', 'isBig'),
        actions: fc.array(fc.constantFrom('add', 'double', 'name'), { maxLength: 3 }),
        reenter: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const on = fc.dictionary(fc.constantFrom(...events), fc.array(edge, { minLength: 1, maxLength: 3 }));
    const charts = fc.record({ root: on, first: on, second: on, third: on });
    const types = setup({
      types: { context: {} as { count: number; name: string } },
      actions: {
        add: assign({ count: ({ context }) => context.count + 1 }),
        double: assign(({ context }) => ({ count: context.count * 2 })),
        name: assign({ name: ({ event }) => event.type, count: 3 }),
      },
      guards: { isEven: ({ context }) => context.count % 2 === 0, isBig: ({ context }) => context.count > 4 },
    });
    /** Targets are written for the root; a state names its siblings without the dot. */
    const sibling = (edges: Record<string, { target?: string }[]>) =>
      Object.fromEntries(
        Object.entries(edges).map(([event, all]) => [
          event,
          all.map(({ target, ...rest }) => (target === undefined ? rest : { ...rest, target: target.slice(1) })),
        ]),
      );
    fc.assert(
      fc.property(charts, fc.array(fc.constantFrom(...events), { maxLength: 20 }), (chart, word) => {
        const machine = types.createMachine({
          context: { count: 0, name: '' },
          initial: 'first',
          on: chart.root,
          states: {
            first: { on: sibling(chart.first) },
            second: { on: sibling(chart.second) },
            third: { on: sibling(chart.third) },
            last: { type: 'final' },
          },
        });
        const [interpreted, compiled] = histories(
          machine,
          word.map((type) => ({ type })),
        );
        expect(compiled).toEqual(interpreted);
      }),
    );
  });

  it('keeps the config of the machine, for an inspector', () => {
    expect(leaseLogic.config).toBe(leaseMachine.config);
  });

  it('persists a snapshot from which an actor goes on', () => {
    const actor = createActor(leaseLogic).start();
    actor.send(lease.samples.GRANTED);
    const snapshot = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()));
    const restored = createActor(leaseLogic, { snapshot }).start();
    restored.send(lease.samples.STARTED);
    expect(restored.getSnapshot()).toMatchObject({ value: 'running', context: { isolate: 'isolate-1' } });
  });

  it('keeps the very snapshot on an event that changes nothing', () => {
    const actor = createActor(supervisorLogic).start();
    const before = actor.getSnapshot();
    actor.send({ type: 'EXIT', isolate: 'isolate-1' });
    expect(actor.getSnapshot()).toBe(before);
  });
});

describe('onViolation', () => {
  const failure = new Error('thrown on purpose');
  const fail = (): never => {
    throw failure;
  };
  const faulty = setup({
    types: { context: {} as { count: number } },
    actions: {
      add: assign({ count: ({ context }) => context.count + 1 }),
      fail: assign(fail),
      spawn: assign(({ spawn }) => ({ count: spawn(fromTransition((state) => state, 0)).id.length })),
    },
    guards: { fail, pass: () => true },
  }).createMachine({
    id: 'faulty',
    context: { count: 0 },
    initial: 'here',
    states: {
      here: {
        on: {
          GUARD: [{ guard: 'fail', target: 'there' }, { target: 'there' }],
          ASSIGN: { target: 'there', actions: ['add', 'fail'] },
          SPAWN: { target: 'there', actions: 'spawn' },
          GO: { target: 'there', actions: 'add' },
        },
      },
      there: {},
    },
  });

  for (const type of ['GUARD', 'ASSIGN'] as const) {
    it(`hears of a ${type} that throws, and the state is left as it was`, () => {
      const { logic, violations } = watched(faulty);
      const actor = createActor(logic, { id: 'it' }).start();
      const before = actor.getSnapshot();
      actor.send({ type });
      expect(actor.getSnapshot()).toBe(before);
      expect(violations).toEqual([
        { machine: 'faulty', actor: 'it', state: 'here', event: type, fault: 'threw', error: failure },
      ]);
      actor.send({ type: 'GO' });
      expect(actor.getSnapshot()).toMatchObject({ value: 'there', context: { count: 1 } });
    });
  }

  it('hears of an assign that spawns', () => {
    const { logic, violations } = watched(faulty);
    createActor(logic).start().send({ type: 'SPAWN' });
    expect(violations).toMatchObject([{ event: 'SPAWN', fault: 'threw' }]);
  });

  it('may throw without harm', () => {
    const actor = createActor(compile(faulty, { onViolation: fail })).start();
    actor.send({ type: 'NONE' });
    actor.send({ type: 'GUARD' });
    expect(actor.getSnapshot()).toMatchObject({ status: 'active', value: 'here' });
  });

  it('of one supervisor hears nothing of another', () => {
    const here = watched(leaseMachine);
    const there = watched(leaseMachine);
    createActor(here.logic).start().send({ type: 'CLEAN' });
    expect([here.violations.length, there.violations.length]).toEqual([1, 0]);
  });

  it('hears nothing when a child is done, and of a child that failed', () => {
    const { logic, violations } = watched(subjects.supervisor.machine);
    const parent = createActor(logic).start();
    createActor(leaseLogic, { parent, id: 'lease-1' }).start().send(lease.samples.STOP);
    expect(violations).toEqual([]);
    createActor(fromTransition(fail, 0), { parent, id: 'stranger' }).start().send({ type: 'ANY' });
    expect(violations).toMatchObject([{ event: 'xstate.error.actor.stranger', fault: 'impossible' }]);
    expect(parent.getSnapshot()).toMatchObject({ status: 'active', value: 'opening' });
  });
});

describe('children of a supervisor', () => {
  it('leave nothing in the system and no memory when they are done', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const parent = createActor(supervisorLogic).start();
    const use = (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const child = createActor(leaseLogic, { parent, id: `lease-${n}`, systemId: `lease-${n}` }).start();
        for (const type of lease.words.quarantined) child.send(lease.samples[type]);
      }
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = use(2_000);
    expect(use(100_000) - before).toBeLessThan(1_000_000);
    expect(parent.system.getAll()).toEqual({});
  });
});

describe('refusals', () => {
  const flat = { initial: 'here', states: { here: {}, there: {} } };
  const here = (state: object) => ({ ...flat, states: { here: state, there: {} } });
  const on = (transition: unknown) => here({ on: { GO: transition } });
  const machines: Record<string, [config: object, message: string]> = {
    after: [here({ after: { 10: 'there' } }), 'after'],
    invoke: [here({ invoke: { src: 'work' } }), 'invoke'],
    always: [here({ always: 'there' }), 'always'],
    entry: [here({ entry: 'name' }), 'entry action'],
    exit: [here({ exit: 'name' }), 'exit action'],
    tags: [here({ tags: ['tag'] }), 'tag'],
    'a nested state': [here(flat), 'compound state'],
    'a parallel state': [here({ type: 'parallel', states: { one: {} } }), 'parallel state'],
    'a parallel root': [{ type: 'parallel', states: flat.states }, 'parallel state'],
    'a history state': [here({ type: 'history', target: 'there' }), 'history state'],
    'a root invoke': [{ ...flat, invoke: { src: 'work' } }, 'invoke'],
    'a root entry': [{ ...flat, entry: 'name' }, 'entry action'],
    'an output': [{ ...flat, output: 1 }, 'output'],
    'onDone of the root': [{ ...flat, onDone: '.there' }, 'xstate.done.state'],
    'a context made by a function': [{ ...flat, context: () => ({}) }, 'context made by a function'],
    'an initial action': [{ ...flat, initial: { target: 'here', actions: 'name' } }, 'initial transition'],
    'a wildcard': [here({ on: { '*': 'there' } }), 'wildcard'],
    'a partial wildcard': [here({ on: { 'go.*': 'there' } }), 'wildcard'],
    'an event of the platform': [here({ on: { 'xstate.done.actor.one': 'there' } }), 'xstate.done.actor.one'],
    'an inline guard': [on({ guard: () => true, target: 'there' }), 'guard that is not a plain name'],
    'a guard with parameters': [on({ guard: { type: 'pass', params: {} } }), 'guard that is not a plain name'],
    'a composed guard': [on({ guard: 'composed', target: 'there' }), "'composed'"],
    'a guard that is missing': [on({ guard: 'missing', target: 'there' }), "'missing'"],
    'an inline action': [on({ actions: () => {} }), 'action that is not a plain name'],
    'an inline assign': [on({ actions: assign({}) }), 'action that is not a plain name'],
    'an action with parameters': [on({ actions: { type: 'name', params: {} } }), 'action that is not a plain name'],
    'an action with an effect': [on({ actions: 'effect' }), "'effect'"],
    'another built-in action': [on({ actions: 'raised' }), "'raised'"],
    'an action that is missing': [on({ actions: 'missing' }), "'missing'"],
  };

  for (const [name, [config, message]] of Object.entries(machines)) {
    it(`refuses ${name}`, () => {
      const machine = createMachine(config as never, {
        actions: { name: assign({}), effect: () => {}, raised: raise({ type: 'GO' }) },
        guards: { pass: () => true, composed: Object.assign(() => true, { check: () => true }) },
        actors: { work: fromTransition((state) => state, 0) },
      });
      const load = () => compile(machine);
      expect(load).toThrow(TypeError);
      expect(load).toThrow(message);
    });
  }
});
