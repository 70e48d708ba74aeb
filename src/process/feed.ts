/**
 * Feeding standard input: what the application gave, piece by piece, to its end.
 *
 * Invariants: nothing here throws or rejects; the pipe is ended only after all of the content, since an end is what tells
 * the reader that it has the whole; a pipe that closes first ends the source, and is no failure.
 * Deliberately absent: what follows from a source that broke.
 */
import { Readable, type Writable } from 'node:stream';

/** A source that broke before its end, and by what. */
export interface BrokenSource {
  readonly error: unknown;
}

const ignore = (): void => undefined;

/** Resolves when all was handed over or the pipe has closed: null; or when the source broke, with the pipe left open. */
export async function feed(content: Uint8Array | string | Readable, pipe: Writable): Promise<BrokenSource | null> {
  // EPIPE: the process does not want it, or is gone. That is its own affair.
  pipe.on('error', ignore);
  try {
    if (content instanceof Readable) {
      content.on('error', ignore);
      pipe.once('close', () => content.destroy());
      for await (const piece of content) {
        if (typeof piece !== 'string' && !(piece instanceof Uint8Array))
          throw new TypeError('Standard input must be a stream of strings or Uint8Arrays, and of nothing else.');
        if (!pipe.write(piece) && !pipe.destroyed) await untilTaken(pipe);
        if (pipe.destroyed) return null;
      }
      pipe.end();
    } else pipe.end(content);
    return null;
  } catch (error) {
    return pipe.destroyed ? null : { error };
  }
}

/** Until there is room in the pipe, or it has closed. */
function untilTaken(pipe: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      pipe.off('drain', done).off('close', done);
      resolve();
    };
    pipe.on('drain', done).on('close', done);
  });
}
