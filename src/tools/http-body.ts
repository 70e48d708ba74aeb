/**
 * The body of one response: counted as it came, decoded, counted again, and cut at either limit.
 *
 * Invariants: it always takes what comes, so that the server is never held by us; what is kept never passes a limit, and
 * one piece at most is being decoded at a time. Deliberately absent: the connection, which whoever opens this one ends.
 */
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { LeaseholdError } from '../model/errors.ts';
import { Blocks } from '../output/blocks.ts';
import { codeOf, httpFailure } from './http-failure.ts';

export interface BodyLimits {
  /** Of the body as it came. */
  readonly wireBytes: number;
  /** Of the body decoded. */
  readonly bodyBytes: number;
}

type Decoder = ReturnType<typeof createGunzip>;

// What a piece holds is told with it; a stream that ends too early is still an error.
const ZLIB = { flush: constants.Z_SYNC_FLUSH };
const DECODERS: Readonly<Record<string, (first: number) => Decoder>> = {
  gzip: () => createGunzip(ZLIB),
  'x-gzip': () => createGunzip(ZLIB),
  // Some servers send deflate without the header it ought to have.
  deflate: (first) => ((first & 0x0f) === 8 ? createInflate(ZLIB) : createInflateRaw(ZLIB)),
  br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
};

export class ResponseBody {
  /** Resolves when the body is whole, or was cut at a limit that truncates. */
  readonly ended: Promise<void>;
  readonly #limits: BodyLimits;
  readonly #onLimit: 'truncate' | 'stop';
  readonly #encodings: readonly string[];
  readonly #kept = new Blocks();
  /** What waits while the decoder is busy. */
  readonly #waiting = new Blocks();
  #decoder: Decoder | null = null;
  #isDecoding = false;
  /** How much more comes from the wire: an end may be the server's, or that of a limit. */
  #wire: 'open' | 'whole' | 'cut' = 'open';
  #decoded: 'open' | 'whole' | 'over' = 'open';
  #wireBytes = 0;
  #truncated = false;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;

  constructor(limits: BodyLimits, onLimit: 'truncate' | 'stop', contentEncoding: string | readonly string[] = []) {
    this.#limits = limits;
    this.#onLimit = onLimit;
    this.#encodings = [contentEncoding]
      .flat()
      .flatMap((header) => header.split(','))
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== '' && name !== 'identity');
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A redirect's body is looked at by nobody.
    this.ended.catch(() => undefined);
  }

  /** What came, the part beyond a limit included. */
  get wireBytes(): number {
    return this.#wireBytes;
  }
  get bodyBytes(): number {
    return this.#kept.length;
  }
  get truncated(): boolean {
    return this.#truncated;
  }
  bytes(): Uint8Array {
    return this.#kept.join();
  }

  write(chunk: Uint8Array): void {
    if (this.#wire !== 'open' || this.#decoded === 'over') return;
    const room = this.#limits.wireBytes - this.#wireBytes;
    this.#wireBytes += chunk.length;
    if (chunk.length > room) this.#wire = 'cut';
    const piece = chunk.subarray(0, Math.max(0, room));
    if (this.#encodings.length === 0) this.#keep(piece);
    else if (this.#decoded === 'open') this.#waiting.append(piece);
    this.#advance();
  }

  /** The server sent all of it. */
  finish(): void {
    if (this.#wire !== 'open') return;
    this.#wire = 'whole';
    this.#advance();
  }

  /** No more of it will come. No-op after its end. */
  fail(error: unknown): void {
    this.#close();
    this.#reject(error);
  }

  /** Decodes what waits, and ends when nothing more comes. */
  #advance(): void {
    if (this.#decoded === 'over' || (this.#isDecoding && this.#decoded === 'open')) return;
    if (this.#waiting.length > 0 && this.#decoded === 'open') {
      const piece = this.#waiting.join();
      this.#waiting.clear();
      this.#decode(piece);
    } else if (this.#wire === 'cut') this.#cut();
    else if (this.#wire === 'whole') {
      if (this.#decoder === null || this.#decoded === 'whole') this.#succeed();
      else this.#decoder.end();
    }
  }

  #decode(piece: Uint8Array): void {
    this.#decoder ??= this.#openDecoder(piece[0] ?? 0);
    if (this.#decoder === null) return;
    this.#isDecoding = true;
    this.#decoder.write(piece, (error) => {
      if (error) return;
      this.#isDecoding = false;
      this.#advance();
    });
  }

  #openDecoder(first: number): Decoder | null {
    const [name = ''] = this.#encodings;
    const open = this.#encodings.length === 1 && Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
    if (open === undefined) {
      const known = Object.keys(DECODERS).join(', ');
      const why = `The body is encoded in a way that is not decoded; one of ${known} is, and only one at a time.`;
      this.fail(httpFailure('EncodingError', why));
      return null;
    }
    const decoder = open(first);
    decoder.on('data', (bytes: Uint8Array) => this.#keep(bytes));
    // It may end before the wire does, when something follows the encoded body: that is counted and left out.
    decoder.on('end', () => {
      if (this.#decoded === 'open') this.#decoded = 'whole';
      this.#waiting.clear();
      this.#advance();
    });
    decoder.on('error', (error) =>
      this.fail(httpFailure('EncodingError', `The body is not the ${name} it says it is.`, { code: codeOf(error) })),
    );
    return decoder;
  }

  #keep(bytes: Uint8Array): void {
    if (this.#decoded === 'over') return;
    const room = this.#limits.bodyBytes - this.#kept.length;
    this.#kept.append(bytes.subarray(0, room));
    if (bytes.length > room) this.#cut();
  }

  #cut(): void {
    this.#truncated = true;
    if (this.#onLimit === 'truncate') this.#succeed();
    else {
      const { wireBytes, bodyBytes } = this.#limits;
      const why = `The body is longer than its limit: ${wireBytes} bytes as it comes, ${bodyBytes} decoded.`;
      this.fail(new LeaseholdError('OUTPUT_LIMIT', why));
    }
  }

  #succeed(): void {
    this.#close();
    this.#resolve();
  }
  #close(): void {
    this.#decoded = 'over';
    this.#waiting.clear();
    this.#decoder?.destroy();
  }
}
