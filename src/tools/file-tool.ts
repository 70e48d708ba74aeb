/**
 * What the three file tools have in common: their options, and the way from an input to a place below the root.
 *
 * Invariants: one call of the file system at a time for each lease, so that it never holds more than one thread of the
 * pool; a stop is thrown as it is, everything else in words that name the path.
 * Deliberately absent: a way to end a call of the file system that blocks, which Node does not have.
 */
import { z } from 'zod';
import { outputRules, toolTerms } from '../model/define-tool.ts';
import { refuseUnknown } from '../model/option-checks.ts';
import type { Effects, Tool, ToolTerms } from '../model/tool.ts';
import type { InlineContext } from '../model/work.ts';
import { toFileError } from './file-error.ts';
import { locate, type Place, rootOf } from './rooted-path.ts';

/** Read and written at once. Bytes. */
export const STEP = 65_536;
/** Of `maxBytes`. */
export const DEFAULT_BYTES = 16 * 1_048_576;

export const pathSchema = z.string().min(1).max(4_096);

/** What the definitions of all file tools may hold. */
export interface FileToolOptions<I extends z.ZodType = z.ZodType> extends Omit<ToolTerms<I>, 'input'> {
  /** Nothing outside is read, written or listed. A directory: a path, resolved from the working directory, or a file URL. */
  readonly root: string | URL;
}

interface FileToolParts<I extends z.ZodType, O extends z.ZodType> {
  readonly of: string;
  readonly limit: string;
  readonly input: I;
  readonly output: O;
  readonly effects: Effects;
  /** Whether the last part of the path need not exist. */
  readonly mayBeNew: boolean;
  serve(place: Place, input: z.output<I>, context: InlineContext): Promise<z.input<O>>;
}

/** Makes the tool. Its options were not checked before, apart from the one `limit` names. */
export function fileTool<I extends z.ZodType<{ path: string }, unknown>, O extends z.ZodType>(
  options: FileToolOptions<I>,
  { of, limit, input, output, effects, mayBeNew, serve }: FileToolParts<I, O>,
): Tool<z.input<I>, z.output<O>> {
  const known = new Set(['name', 'root', limit, 'runTimeoutMs', 'graceMs', 'secrets']);
  refuseUnknown(options, known, of);
  const root = rootOf(options.root);
  return Object.freeze<Tool<z.input<I>, z.output<O>>>({
    ...toolTerms<I>({ ...options, input }, new Set([...known, 'input']), of),
    work: Object.freeze({
      kind: 'inline',
      occupiesPool: true,
      async serve(accepted: unknown, context: InlineContext): Promise<unknown> {
        const given = accepted as z.output<I>;
        const { signal } = context;
        signal.throwIfAborted();
        const place = await locate(root, given.path, mayBeNew);
        try {
          return await serve(place, given, context);
        } catch (error) {
          throw signal.aborted && error === signal.reason ? error : toFileError(place.shown, error);
        }
      },
    }),
    output,
    effects,
    isolation: 'inline',
    permissions: null,
    outputRules: outputRules('outputLimits', undefined, {}),
  });
}
