/**
 * The bodies of the entries `prepared` and `closed`: in a log that survives, with what recovery and a later reader need.
 *
 * Invariants: redacted, and within the 4 KiB of an entry; what is over 2 KiB of JSON is a blob that was stored before the entry
 * names it, or is told as omitted. A log that does not survive pays for none of it.
 * Deliberately absent: secrets, in any form.
 */
import type { Verdict } from '../decide/classify.ts';
import type { BlobStore, LogEvent } from '../model/stores.ts';
import { type Clock, settlesWithin } from '../model/time.ts';
import type { Tool } from '../model/tool.ts';
import { plainCopy } from '../output/plain-copy.ts';
import type { Redactor } from '../output/redaction.ts';
import { canonicalJson } from './intent-key.ts';

type Body = LogEvent['body'];

/** Bytes of JSON that a part may have in its entry. */
const PART_BYTES = 2 * 1024;
const LABELS_BYTES = 1024;
const ENTRY_BYTES = 4 * 1024;

/** Where large parts go, and what must not be seen in any. */
export interface Keeping {
  readonly tenant: string;
  readonly redactor: Redactor;
  /** Null: there is none that survives. */
  readonly blobs: BlobStore | null;
  readonly clock: Clock;
  /** How long a blob may take. Milliseconds. */
  readonly withinMs: number;
}

export interface PreparedSubject {
  readonly tool: Tool;
  readonly input: unknown;
  /** Redacted already. */
  readonly labels: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | null;
  /** The tool named secrets for this input. */
  readonly hasSecrets: boolean;
}

/** What begins an attempt's record. `keeping` null: the log does not survive. The promise never rejects. */
export function preparedBody(subject: PreparedSubject, keeping: Keeping | null): Body | Promise<Body> {
  const { tool, input, labels, idempotencyKey, hasSecrets } = subject;
  const plain = { tool: tool.name, effects: tool.effects };
  if (keeping === null) return plain;
  const told = new Part('input', input, keeping.redactor);
  const tags = new Part('labels', labels, keeping.redactor);
  const seed = idempotencyKey === null ? null : keeping.redactor.text(idempotencyKey);
  const rest = {
    ...plain,
    hadSecrets: hasSecrets || told.wasHidden || seed !== idempotencyKey,
    isExact: told.isExact,
    checksOutput: tool.output !== null,
    idempotencyKey: seed,
  };
  const small = { ...rest, ...tags.inline(LABELS_BYTES), ...told.inline(PART_BYTES) };
  const isWhole = tags.fits(LABELS_BYTES) && told.fits(PART_BYTES) && jsonBytes(small) <= ENTRY_BYTES;
  if (isWhole) return small;
  return Promise.all([tags.keep(LABELS_BYTES, keeping), told.keep(0, keeping)]).then((parts) =>
    Object.assign({ ...rest }, ...parts),
  );
}

/** What ends it. `keeping` null: the value is not kept. The promise never rejects. */
export function closedBody(
  { status, cause, code }: Verdict,
  value: unknown,
  keeping: Keeping | null,
): Body | Promise<Body> {
  const plain = { status, cause: cause?.kind ?? null, code };
  if (keeping === null || status !== 'succeeded') return plain;
  const told = new Part('value', value, keeping.redactor);
  const body = { ...plain, ...(!told.isExact && { isExact: false }) };
  if (told.fits(PART_BYTES)) return { ...body, ...told.inline(PART_BYTES) };
  return told.keep(0, keeping).then((part) => ({ ...body, ...part }));
}

/** One named part of a body. */
class Part {
  /** Something in it was to be hidden. */
  readonly wasHidden: boolean;
  /** It is the whole: nothing was hidden, cut, or beyond JSON. */
  readonly isExact: boolean;
  readonly #name: string;
  readonly #plain: unknown;
  /** Null for `undefined`, which is told by being absent. */
  readonly #text: string | null;

  constructor(name: string, x: unknown, redactor: Redactor) {
    this.#name = name;
    this.#plain = redactor.plain(x);
    this.#text = x === undefined ? null : JSON.stringify(this.#plain);
    this.isExact = x === undefined || isSame(this.#plain, x);
    this.wasHidden = !this.isExact && JSON.stringify(plainCopy(x, OPEN)) !== JSON.stringify(this.#plain);
  }

  fits(bytes: number): boolean {
    return this.#text === null || (Buffer.byteLength(this.#text) <= bytes && !isReference(this.#plain));
  }
  inline(bytes: number): Body {
    return this.#text !== null && this.fits(bytes) ? { [this.#name]: this.#plain } : {};
  }
  /** In the entry when it has at most so many bytes, else as a blob. */
  async keep(bytes: number, { tenant, blobs, clock, withinMs }: Keeping): Promise<Body> {
    if (this.#text === null || this.fits(bytes)) return this.inline(bytes);
    const content = Buffer.from(this.#text);
    const kept: { digest: string | null } = { digest: null };
    const storing = (async () => {
      if (blobs !== null) kept.digest = await blobs.put(tenant, content);
    })().catch(() => undefined);
    await settlesWithin(clock, withinMs, storing);
    const { digest } = kept;
    return digest === null ? { [`${this.#name}Omitted`]: content.length } : { [this.#name]: { blob: digest } };
  }
}

const OPEN = { text: (s: string) => s, isHidden: () => false };

/** What looks like the name of a blob is stored as one, so that none is taken for it. */
function isReference(x: unknown): boolean {
  return typeof x === 'object' && x !== null && 'blob' in x && Object.keys(x).length === 1;
}

function isSame(copy: unknown, x: unknown): boolean {
  try {
    return canonicalJson(copy) === canonicalJson(x);
  } catch {
    return false;
  }
}

function jsonBytes(x: unknown): number {
  return Buffer.byteLength(JSON.stringify(x));
}
