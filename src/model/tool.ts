/**
 * Tools: named units of work, described once and frozen.
 *
 * Invariant: a definition that reaches the rest of the code is complete and valid.
 * Deliberately absent: loading a tool's module, which happens inside an isolate only.
 */
import type { z } from 'zod';
import type { OutputLimits } from './option-shapes.ts';
import type { Permissions } from './permissions.ts';
import type { Effects, Isolation, Work } from './work.ts';

export type { Effects, Isolation };

/** What becomes of the output of a tool. */
export interface OutputRules {
  /** Override the supervisor's. Bytes. */
  readonly limits: Partial<OutputLimits>;
  /** At a limit: the middle is left out, or the run is stopped. */
  readonly onLimit: 'truncate' | 'stop';
  /** With `'bytes'` the result holds the bytes as well. */
  readonly encoding: 'utf8' | 'bytes';
  /** Makes the text of standard error readable; null leaves it as it came. */
  readonly readStderr: ((text: string) => string) | null;
}

/** What the definitions of all tools have in common. */
export interface ToolTerms<I extends z.ZodType = z.ZodType> {
  /** `^[a-z][a-z0-9._-]{0,63}$` */
  readonly name: string;
  readonly input: I;
  readonly runTimeoutMs?: number;
  readonly graceMs?: number;
  /**
   * Values of this input that must never appear in a result, event or log. Called once with an accepted input; anything but an
   * array of strings, a promise for one, refuses the request.
   */
  readonly secrets?: (input: z.output<I>) => readonly string[];
}

/** What `defineTool` takes. */
export interface ToolDefinition<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> extends ToolTerms<I> {
  /** A file URL, an absolute path or a package specifier. It is loaded inside the isolate only. */
  readonly module: URL | string;
  /** Default `'default'`. */
  readonly exportName?: string;
  readonly output?: O;
  /** `none`: pure. `declared`: only through `ctx.perform`. `opaque`: the body itself is one effect. */
  readonly effects: Effects;
  /** Default `'thread'`. In a process a crash, a blocking call or a flood of memory costs that process only. */
  readonly isolation?: 'thread' | 'process';
  /** For `isolation: 'process'` only. Default: no restriction. */
  readonly permissions?: Permissions;
  /** Override the supervisor's `output`, field by field. */
  readonly outputLimits?: Partial<OutputLimits>;
  /** What passing a limit of the output does. Default `'truncate'`. */
  readonly onLimit?: 'truncate' | 'stop';
  /** `'bytes'`: the output in the result holds the bytes beside the text. Default `'utf8'`. */
  readonly encoding?: 'utf8' | 'bytes';
}

/** A validated, frozen tool. `In` is what callers pass, `Out` what a succeeded result holds. */
export interface Tool<In = unknown, Out = unknown> {
  readonly name: string;
  readonly work: Work;
  readonly input: z.ZodType;
  readonly output: z.ZodType | null;
  readonly effects: Effects;
  readonly isolation: Isolation;
  readonly permissions: Required<Permissions> | null;
  readonly outputRules: OutputRules;
  readonly runTimeoutMs: number | null;
  readonly graceMs: number | null;
  readonly secrets: ((input: unknown) => readonly string[]) | null;
  /** Types only; never present. */
  readonly '~types'?: { readonly input: In; readonly output: Out };
}
