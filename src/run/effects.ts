/**
 * Effects: what an isolate may ask of the host during one attempt: to let an effect go, to note how it ended, and blobs.
 *
 * Invariants: an effect is let go only after its intent was recorded, and never after a stop; the grant is the cut between
 * cancelled and indeterminate. Deliberately absent: running the effect, which happens in the isolate.
 */
import { LeaseholdError } from '../model/errors.ts';
import type { IntentState } from '../model/result.ts';
import { intentKey } from '../record/fold.ts';
import { toFailure } from '../wire/failure.ts';
import type { HostCalls } from '../wire/protocol.ts';
import type { Answer, AttemptSetting } from './attempt-setting.ts';
import type { Journal } from './journal.ts';

/** The name under which the body of an opaque tool is an intent: the attempt itself. */
const BODY = '';

type Intent = Parameters<HostCalls['dispatch']>[1];
const ON_AMBIGUOUS: ReadonlySet<string> = new Set(['hold', 'reconcile', 'rerun-same-key', 'assume-applied']);

/** Who says whether an effect may still be let go. */
export interface Gate {
  /** Whether the lease numbered `seq` runs and no stop is recorded or due. */
  mayDispatch(seq: number): boolean;
  /** Whether it has not ended. */
  isOpen(seq: number): boolean;
}

export class Effects implements HostCalls {
  readonly #setting: AttemptSetting;
  readonly #journal: Journal;
  readonly #gate: Gate;
  #body: 'none' | 'dispatched' | 'settled' = 'none';
  /** The entry of the body on its way to the log. */
  #dispatching: Promise<void> | null = null;
  /** The names that hold something hidden, as log and result tell them. */
  readonly #shown = new Map<string, string>();

  constructor(setting: AttemptSetting, journal: Journal, gate: Gate) {
    this.#setting = setting;
    this.#journal = journal;
    this.#gate = gate;
  }

  /** Records the body of an opaque tool as dispatched, once per attempt. A promise when the log needs time. */
  dispatchBody(): undefined | Promise<void> {
    if (this.#setting.tool.effects !== 'opaque' || this.#body !== 'none') return undefined;
    // A lease that lost its isolate meanwhile comes back here: the body is recorded once, whichever isolate gets it.
    if (this.#dispatching !== null) return this.#dispatching;
    const written = this.#journal.write('dispatched', BODY, this.#dispatched(this.#key(BODY, null), 'hold'));
    if (written === undefined) {
      this.#body = 'dispatched';
      return undefined;
    }
    this.#dispatching = written.then(() => {
      this.#body = 'dispatched';
      this.#dispatching = null;
    });
    return this.#dispatching;
  }

  /** The tool answered. A throw after a stop leaves the body open: it proves nothing. */
  settleBody(answer: Answer, stopped: boolean): void {
    if (answer.ok) void this.#closeBody('applied');
    else if (answer.failure.name === 'NotAppliedError') void this.#closeBody('not-applied');
    else if (!stopped) void this.#closeBody('failed');
  }

  /** The body was dispatched and its run was taken back before it began. A promise when the log needs time. */
  withdrawBody(): undefined | Promise<void> {
    return this.#closeBody('not-applied');
  }

  dispatch(seq: number, intent: Intent): Promise<string> {
    const granted = this.#grant(seq, intent);
    // The attempt's end waits for the whole of it: also for the entry that takes an effect back which was not let go.
    this.#journal.track(granted);
    return granted;
  }

  async #grant(seq: number, intent: Intent): Promise<string> {
    const { name } = intent;
    const { tool } = this.#setting;
    const fault = faultOf(intent);
    if (fault !== null) throw refused(null, fault);
    if (tool.effects === 'none') throw refused(name, `the tool ${tool.name} declares effects: 'none'`);
    if (!this.#gate.mayDispatch(seq)) throw refused(name, 'a stop came first');
    const key = this.#key(name, intent.key);
    const shown = this.#show(name);
    try {
      await this.#journal.write('dispatched', shown, this.#dispatched(key, intent.onAmbiguous));
    } catch (cause) {
      throw refused(name, `it could not be recorded (${toFailure(cause, 'TOOL_ERROR').message})`, cause);
    }
    if (this.#gate.mayDispatch(seq)) return key;
    // The stop came between the record and the grant: the effect is not let go, and the record says so.
    await this.#journal.write('settled', shown, { state: 'not-applied' });
    throw refused(name, 'a stop came first');
  }

  async settle(seq: number, name: string, state: Exclude<IntentState, 'dispatched'> | 'open'): Promise<void> {
    this.#refuseForeign(seq);
    if (state !== 'open') await this.#journal.write('settled', this.#show(name), { state });
  }

  async putBlob(seq: number, bytes: Uint8Array): Promise<string> {
    this.#refuseForeign(seq);
    return this.#setting.blobs.put(this.#setting.names.tenant, bytes);
  }
  async getBlob(seq: number, digest: string): Promise<Uint8Array> {
    this.#refuseForeign(seq);
    return this.#setting.blobs.get(this.#setting.names.tenant, digest);
  }

  /** What an earlier tool of the isolate left behind has no say in this lease, and no sight of its tenant. */
  #refuseForeign(seq: number): void {
    if (!this.#gate.isOpen(seq))
      throw new LeaseholdError('SCOPE_CLOSED', 'The lease that this call belongs to is over.');
  }

  #closeBody(state: Exclude<IntentState, 'dispatched'>): undefined | Promise<void> {
    if (this.#body !== 'dispatched') return undefined;
    this.#body = 'settled';
    try {
      // A refusal by the log leaves the body open, which is what the record then says.
      return this.#journal.write('settled', BODY, { state })?.catch(() => undefined);
    } catch {
      return undefined;
    }
  }

  #key(name: string, key: string | null): string {
    const { names, tool, input, idempotencyKey } = this.#setting;
    return intentKey({ ...names, tool: tool.name, name, key, input, seed: idempotencyKey });
  }
  #dispatched(key: string, onAmbiguous: string): Record<string, unknown> {
    const { redactor, tool } = this.#setting;
    return { key: redactor.text(key), onAmbiguous, tool: tool.name };
  }

  /** Two names do not become one by what is hidden in them. */
  #show(name: string): string {
    const text = this.#setting.redactor.text(name);
    if (text === name) return name;
    const known = this.#shown.get(name);
    if (known !== undefined) return known;
    const shown = [...this.#shown.values()].includes(text) ? `${text} #${this.#shown.size + 1}` : text;
    this.#shown.set(name, shown);
    return shown;
  }
}

/** What is wrong with an intent; it comes from user code. */
function faultOf({ name, key, onAmbiguous }: Intent): string | null {
  if (!isName(name)) return 'an intent needs a name of 1 to 256 characters';
  if (key !== null && !isName(key)) return 'the key of an intent is a string of 1 to 256 characters, if it is given';
  return ON_AMBIGUOUS.has(onAmbiguous) ? null : `onAmbiguous is one of ${[...ON_AMBIGUOUS].join(', ')}`;
}
const isName = (x: unknown): boolean => typeof x === 'string' && x !== '' && x.length <= 256;

function refused(name: string | null, why: string, cause?: unknown): LeaseholdError {
  return new LeaseholdError(
    'INTENT_REFUSED',
    `The effect ${name === null ? '' : `"${name}" `}was not let go: ${why}.`,
    cause === undefined ? {} : { cause },
  );
}
