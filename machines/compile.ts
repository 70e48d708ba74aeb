/**
 * Turns a flat chart into actor logic for `createActor`: a table of states and events, read from XState's own parse.
 *
 * Invariants: it behaves as the interpreted machine does, except that nothing throws: a guard or assign that throws,
 * and an event without a transition, are told to `onViolation` and leave the very same snapshot.
 * Deliberately absent: every feature the charts do not need. One that is met is refused at load, never approximated.
 */
import type { AnyStateMachine, AnyStateNode, ContextFrom, EventFromLogic, StateValueFrom } from 'xstate';
import type { ChartLogic, ChartSnapshot, Violation } from './chart.ts';

export interface CompileOptions {
  /** Hears of each violation, synchronously. What it throws is swallowed: `send` must not throw into the host. */
  readonly onViolation?: (violation: Violation) => void;
}

type Guard<Context, Event> = (args: { context: Context; event: Event }) => boolean;
type Assignment<Context, Event> = (args: { context: Context; event: Event }) => Partial<Context>;

interface Edge<Context, Event> {
  readonly guard: Guard<Context, Event> | null;
  /** Null: the state is kept. */
  readonly target: string | null;
  readonly assignments: readonly Assignment<Context, Event>[];
}

type Edges<Context, Event> = ReadonlyMap<string, readonly Edge<Context, Event>[]>;

/**
 * Compiles a machine with flat states whose transitions have at most one target, named guards, named `assign` actions.
 * The logic shares nothing with that of another call: each supervisor compiles its own and counts its own violations.
 *
 * @throws TypeError naming the place of the first feature it does not support.
 */
export function compile<Machine extends AnyStateMachine>(
  machine: Machine,
  options: CompileOptions = {},
): ChartLogic<StateValueFrom<Machine> & string, ContextFrom<Machine>, EventFromLogic<Machine>> {
  type State = StateValueFrom<Machine> & string;
  type Context = ContextFrom<Machine>;
  type Event = EventFromLogic<Machine>;

  const { onViolation } = options;
  const root: AnyStateNode = machine.root;
  refuseAround(root, 'compound');
  const rootEdges = edgesOf<Context, Event>(root);
  const active = new Map<string, Edges<Context, Event>>();
  for (const node of Object.values(root.states)) {
    refuseAround(node, node.type === 'final' ? 'final' : 'atomic');
    const own = edgesOf<Context, Event>(node);
    if (node.type === 'final') continue;
    const all = new Map(own);
    for (const [type, edges] of rootEdges) all.set(type, [...(own.get(type) ?? []), ...edges]);
    active.set(node.key, all);
  }

  const { context } = machine.config;
  if (typeof context === 'function') refuse(root, 'a context made by a function');
  const initial = snapshotOf(initialKey(root) as State, (context ?? {}) as Context);

  function snapshotOf(value: State, next: Context): ChartSnapshot<State, Context> {
    const status = active.has(value) ? 'active' : 'done';
    return { status, value, context: next, output: undefined, error: undefined };
  }

  function report(actor: string, state: string, event: string, thrown?: { readonly error: unknown }): void {
    try {
      const fault = thrown ? 'threw' : 'impossible';
      onViolation?.({ machine: machine.id, actor, state, event, fault, ...thrown });
    } catch {
      // Told and not heard: the state is unchanged either way.
    }
  }

  return {
    config: machine.config,
    getInitialSnapshot: () => initial,
    getPersistedSnapshot: (snapshot) => snapshot,
    transition(snapshot, event, scope) {
      const events = active.get(snapshot.value);
      if (events === undefined) return snapshot;
      const edges = events.get(event.type);
      if (edges === undefined) {
        if (event.type === 'xstate.stop') return { ...snapshot, status: 'stopped' };
        if (!isRelayed(event.type)) report(scope.id, snapshot.value, event.type);
        return snapshot;
      }
      try {
        for (const edge of edges) {
          if (edge.guard !== null && !edge.guard({ context: snapshot.context, event })) continue;
          let next = snapshot.context;
          for (const assignment of edge.assignments) {
            next = Object.assign({}, next, assignment({ context: next, event }));
          }
          if (edge.target === null && next === snapshot.context) return snapshot;
          return snapshotOf((edge.target as State | null) ?? snapshot.value, next);
        }
      } catch (error) {
        report(scope.id, snapshot.value, event.type, { error });
      }
      return snapshot;
    },
  };
}

/** What a child's end sends to its parent by itself. A child's error is not among them: no compiled child has one. */
function isRelayed(type: string): boolean {
  return type.startsWith('xstate.done.actor.') || type.startsWith('xstate.snapshot.');
}

function refuse(node: AnyStateNode, feature: string): never {
  throw new TypeError(`cannot compile '${node.id}': ${feature} is not supported`);
}

/** Refuses all that may hang on a state beside its transitions. */
function refuseAround(node: AnyStateNode, type: AnyStateNode['type']): void {
  if (node.type !== type) refuse(node, `a ${node.type} state here`);
  // First of all, since XState turns it into entry and exit actions.
  if (node.after.length > 0) refuse(node, 'after');
  if (node.invoke.length > 0) refuse(node, 'invoke');
  if (node.entry.length > 0) refuse(node, 'an entry action');
  if (node.exit.length > 0) refuse(node, 'an exit action');
  if ((node.always ?? []).length > 0) refuse(node, 'always');
  if (node.tags.length > 0) refuse(node, 'a tag');
  if (node.output !== undefined) refuse(node, 'an output');
}

function initialKey(root: AnyStateNode): string {
  const { target, actions } = root.initial;
  if (actions.length > 0) refuse(root, 'an action of the initial transition');
  const [first, ...rest] = target ?? [];
  if (first === undefined || rest.length > 0 || first.parent !== root) refuse(root, 'this initial state');
  return first.key;
}

function edgesOf<Context, Event>(node: AnyStateNode): Edges<Context, Event> {
  const edges = new Map<string, readonly Edge<Context, Event>[]>();
  for (const [type, transitions] of node.transitions) {
    if (type.includes('*')) refuse(node, `the wildcard '${type}'`);
    if (type.startsWith('xstate.')) refuse(node, `a transition on '${type}'`);
    edges.set(
      type,
      transitions.map(({ target, guard, actions }) => {
        const [first, ...rest] = target ?? [];
        if (rest.length > 0) refuse(node, `more than one target on '${type}'`);
        if (first !== undefined && first.parent !== node.machine.root) refuse(node, `the target of '${type}'`);
        return {
          guard: guard === undefined ? null : guardOf<Context, Event>(node, guard),
          target: first?.key ?? null,
          assignments: actions.map((action) => assignmentOf<Context, Event>(node, action)),
        };
      }),
    );
  }
  return edges;
}

function guardOf<Context, Event>(node: AnyStateNode, name: unknown): Guard<Context, Event> {
  if (typeof name !== 'string') refuse(node, 'a guard that is not a plain name');
  const guard: unknown = node.machine.implementations.guards[name];
  if (typeof guard !== 'function' || 'check' in guard) refuse(node, `the guard '${name}', not a plain function,`);
  return guard as Guard<Context, Event>;
}

function assignmentOf<Context, Event>(node: AnyStateNode, name: unknown): Assignment<Context, Event> {
  if (typeof name !== 'string') refuse(node, 'an action that is not a plain name');
  const action: unknown = node.machine.implementations.actions[name];
  // `assign` makes a function that carries its type and the assignment it was given.
  if (
    typeof action !== 'function' ||
    !('assignment' in action) ||
    !('type' in action) ||
    action.type !== 'xstate.assign'
  ) {
    refuse(node, `the action '${name}', not an assign,`);
  }
  if (typeof action.assignment === 'function') return action.assignment as Assignment<Context, Event>;
  const fields = Object.entries(action.assignment as Record<string, unknown>);
  return (args) => {
    const update: Record<string, unknown> = {};
    for (const [key, value] of fields) update[key] = typeof value === 'function' ? value(args) : value;
    return update as Partial<Context>;
  };
}
