/**
 * Coordinate: turn after turn, each a request in a scope of its own, and between two of them the application decides.
 *
 * Invariants: `next` is called with the turn's lease released and its scope ended, and never after the end of the scope it is in;
 * what it rejects with carries the turns so far. Deliberately absent: a timer. Each turn has the budget of its own options, the
 * whole has the deadline of the scope.
 */
import { invalidOption, isLeaseholdError, LeaseholdError, ScopeClosedError } from '../model/errors.ts';
import { countOr, nested } from '../model/option-checks.ts';
import type { RunOptions } from '../model/option-shapes.ts';
import type { RunResult } from '../model/result.ts';
import type { Tool } from '../model/tool.ts';
import type { ScopeStop } from './child.ts';
import { reasonOf } from './reason.ts';
import type { Child } from './spawned.ts';

/** One request. Its options are its own: a budget given for one turn bounds no other. */
export interface Turn<In = unknown, Out = unknown> {
  readonly tool: Tool<In, Out>;
  readonly input: NoInfer<In>;
  readonly options?: RunOptions | undefined;
  readonly done?: never;
}

/** The end of a coordination, with its value. */
export interface Done<Value> {
  readonly done: Value;
  readonly tool?: never;
  readonly input?: never;
  readonly options?: never;
}

/** Decides after every turn, failed ones included. `scope` is the one that coordinates, free to start other requests. */
export type NextTurn<Value, Scope> = (
  result: RunResult,
  scope: Scope,
) => Turn | Done<Value> | Promise<Turn | Done<Value>>;

export interface CoordinateOptions {
  /** The most turns, 1 to 10 000. Default 100. */
  readonly maxTurns?: number;
}

/** What a coordination came to. */
export interface Coordination<Value> {
  readonly value: Value;
  readonly turns: readonly RunResult[];
}

/** What `coordinate` rejects with: an error of this library that also has the results so far. */
export type CoordinationError = LeaseholdError & { readonly turns: readonly RunResult[] };

const KNOWN: ReadonlySet<string> = new Set(['maxTurns']);
const TURN: ReadonlySet<string> = new Set(['tool', 'input', 'options']);
const DONE: ReadonlySet<string> = new Set(['done']);

/** A scope as what coordinates in it sees it. */
interface Home<Scope> {
  readonly stopped: ScopeStop | null;
  readonly closed: boolean;
  readonly ctx: { readonly signal: AbortSignal };
  fork(): Scope;
  runTool(tool: Tool, input: unknown, options?: RunOptions): Promise<RunResult>;
  spawn<T>(name: string, body: (inner: Scope) => Promise<T>): Child<T>;
  shutdown(): Promise<unknown>;
}

/** It lives in `scope` as a child of this name until `next` has returned, also when the scope has ended meanwhile. */
export function coordinate<Value, Scope extends Home<Scope>>(
  scope: Scope,
  first: Turn,
  next: NextTurn<Value, Scope>,
  options: CoordinateOptions | undefined,
): Promise<Coordination<Value>> {
  const turns: RunResult[] = [];
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(withTurns(error, turns));
    try {
      const maxTurns = maxTurnsOf(options);
      if (typeof next !== 'function') throw invalidOption('next', next, 'a function');
      const start = turnOf('first', first);
      const ask = (result: RunResult) => decide(scope, next, result, fail);
      const body = (inner: Scope) => takeTurns(inner, start, ask, maxTurns, turns);
      scope.spawn('coordinate', body).result.then(resolve, fail);
    } catch (error) {
      fail(error);
    }
  });
}

async function takeTurns<Value, Scope extends Home<Scope>>(
  home: Scope,
  first: Turn,
  ask: (result: RunResult) => Promise<Turn | Done<Value>>,
  maxTurns: number,
  turns: RunResult[],
): Promise<Coordination<Value>> {
  let turn = first;
  for (;;) {
    const own = home.fork();
    let result: RunResult;
    try {
      result = await own.runTool(turn.tool, turn.input, turn.options);
    } finally {
      await own.shutdown();
    }
    turns.push(result);
    refuseWhenEnded(home);
    const answer = await ask(result);
    if (isDone(answer)) return Object.freeze({ value: answer.done, turns: Object.freeze([...turns]) });
    refuseWhenEnded(home);
    turn = turnOf('the return of next', answer);
    if (turns.length >= maxTurns)
      throw new LeaseholdError('MAX_TURNS', `next() went on after ${maxTurns} turns (maxTurns).`);
  }
}

/** Asks the application. `fail` hears of the end of the scope at once, while `next` is still at work. */
async function decide<Value, Scope extends Home<Scope>>(
  scope: Scope,
  next: NextTurn<Value, Scope>,
  result: RunResult,
  fail: (error: unknown) => void,
): Promise<Turn | Done<Value>> {
  let unfollow = () => {};
  try {
    const answer = next(result, scope);
    if (!isThenable(answer)) return answer;
    const { signal } = scope.ctx;
    const hear = () => fail(endOf(scope));
    if (signal.aborted) hear();
    signal.addEventListener('abort', hear, { once: true });
    unfollow = () => signal.removeEventListener('abort', hear);
    return await answer;
  } catch (error) {
    throw endOf(scope) ?? new LeaseholdError('NEXT_FAILED', 'next() of a coordination threw.', { cause: error });
  } finally {
    unfollow();
  }
}

/** Why nothing more may begin in a scope; null while something may. */
function endOf({ stopped, closed }: Home<unknown>): Error | null {
  if (stopped !== null) return reasonOf(stopped);
  return closed ? new ScopeClosedError('SCOPE_CLOSED', 'The scope is closed; no further turn was taken.') : null;
}

function refuseWhenEnded(scope: Home<unknown>): void {
  const end = endOf(scope);
  if (end !== null) throw end;
}

function maxTurnsOf(options: CoordinateOptions | undefined): number {
  const given = nested<CoordinateOptions>('options', options, KNOWN);
  return countOr('maxTurns', given.maxTurns, 100, 1, 10_000);
}

const isObject = (x: unknown): x is object => typeof x === 'object' && x !== null;
const isThenable = (x: unknown): x is PromiseLike<unknown> =>
  isObject(x) && typeof (x as Partial<PromiseLike<unknown>>).then === 'function';

/** A `done` beside a tool says nothing unless it has a value. */
function isDone<Value>(answer: Turn | Done<Value>): answer is Done<Value> {
  if (!isObject(answer) || !('done' in answer) || (answer.done === undefined && 'tool' in answer)) return false;
  nested('the return of next', answer, DONE);
  return true;
}

function turnOf(name: string, turn: unknown): Turn {
  if (!isObject(turn) || !('tool' in turn)) throw invalidOption(name, turn, TURN_OR_DONE);
  nested(name, turn, TURN);
  return turn as Turn;
}
const TURN_OR_DONE = '{ tool, input, options? }, or from next() { done: value }';

/** Whatever ends it is an error of this library; what a foreign one said is its cause. */
function withTurns(error: unknown, turns: readonly RunResult[]): CoordinationError {
  const own = isLeaseholdError(error)
    ? error
    : new LeaseholdError('NEXT_FAILED', 'The coordination failed.', { cause: error });
  return Object.assign(own, { turns: Object.freeze([...turns]) }) as CoordinationError;
}
