/**
 * Everything a supervisor tells of one request, to whomever: as one list of texts.
 *
 * Invariant: keys, symbols and what cannot be enumerated are looked at too, at any depth. Deliberately absent: what is looked for.
 */
import {
  createSupervisor,
  type Event,
  isLeaseholdError,
  memoryEventLog,
  type RunOptions,
  type RunResult,
  type SupervisorOptions,
  stableResult,
  type Tool,
  unwrap,
} from 'leasehold';

/** Every text that can be reached from `from` without calling a method. */
export function textsIn(...from: readonly unknown[]): string[] {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  const ahead: unknown[] = [...from];
  for (let next = ahead.pop(); ahead.length > 0 || next !== undefined; next = ahead.pop()) {
    if (typeof next === 'string') texts.push(next);
    if (typeof next === 'symbol') texts.push(String(next));
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    if (next instanceof Uint8Array) {
      texts.push(Buffer.from(next).toString());
      continue;
    }
    if (next instanceof Map || next instanceof Set) ahead.push([...next]);
    for (const key of Reflect.ownKeys(next)) {
      texts.push(String(key));
      const { value } = Object.getOwnPropertyDescriptor(next, key) ?? {};
      if (value !== undefined) ahead.push(value);
    }
  }
  return texts;
}

export interface Overheard {
  readonly result: RunResult;
  readonly events: readonly Event[];
  /** How many entries the log has, and how many events an inspector heard. */
  readonly counts: { readonly log: number; readonly inspection: number };
  readonly texts: readonly string[];
}

/** Runs one request in a supervisor of its own, with everybody listening. */
export async function overhear(
  tool: Tool<unknown, unknown>,
  input: unknown,
  runOptions: RunOptions = {},
  options: SupervisorOptions = {},
): Promise<Overheard> {
  const eventLog = memoryEventLog();
  const [events, inspection, log]: [Event[], unknown[], unknown[]] = [[], [], []];
  const heard = { stdout: '', stderr: '' };
  const supervisor = createSupervisor({
    isolates: 1,
    standby: 0,
    eventLog,
    observers: [{ onEvent: (event) => events.push(event) }],
    // Read at once, as an inspector would send it.
    inspect: (told) => inspection.push(...textsIn(told)),
    ...options,
  });
  const result = await supervisor.runTool(tool, input, {
    ...runOptions,
    onOutput: ({ stream, text }) => {
      heard[stream] += text;
    },
  });
  await supervisor.close();
  for await (const entry of eventLog.read()) log.push(entry);
  for await (const intent of eventLog.openIntents()) log.push(intent);
  const told = [result, stableResult(result), thrownBy(result), events, log, heard, supervisor.statistics()];
  return {
    result,
    events,
    counts: { log: log.length, inspection: inspection.length },
    texts: [...textsIn(...told), ...(inspection as string[]), JSON.stringify([result, events, log])],
  };
}

function thrownBy(result: RunResult): unknown {
  try {
    unwrap(result);
    return null;
  } catch (error) {
    if (!isLeaseholdError(error)) throw error;
    return error;
  }
}
