/**
 * Tools: named units of work, described once by `defineTool` and frozen.
 *
 * Invariant: a definition that reaches the rest of the code is complete and valid.
 * Deliberately absent: loading a tool's module, which happens inside an isolate only.
 */
import type { z } from 'zod';

/** What a tool may do to the outside world. Declared, never guessed. */
export type Effects = 'none' | 'declared' | 'opaque';
export type Isolation = 'thread' | 'process';

/** What `defineTool` takes. */
export interface ToolDefinition<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  /** `^[a-z][a-z0-9._-]{0,63}$` */
  readonly name: string;
  /** A file URL, an absolute path or a package specifier. It is loaded inside the isolate only. */
  readonly module: URL | string;
  /** Default `'default'`. */
  readonly exportName?: string;
  readonly input: I;
  readonly output?: O;
  /** `none`: pure. `declared`: only through `ctx.perform`. `opaque`: the body itself is one effect. */
  readonly effects: Effects;
  /** Default `'thread'`. `'process'` is not available yet. */
  readonly isolation?: Isolation;
  readonly runTimeoutMs?: number;
  readonly graceMs?: number;
  /**
   * Values of this input that must never appear in a result, event or log. Called once with an accepted input; anything but an
   * array of strings, a promise for one, refuses the request.
   */
  readonly secrets?: (input: z.output<I>) => readonly string[];
}

/** A validated, frozen tool. `In` is what callers pass, `Out` what a succeeded result holds. */
export interface Tool<In = unknown, Out = unknown> {
  readonly name: string;
  /** An absolute file URL, or a package specifier. */
  readonly module: string;
  readonly exportName: string;
  readonly input: z.ZodType;
  readonly output: z.ZodType | null;
  readonly effects: Effects;
  readonly isolation: Isolation;
  readonly runTimeoutMs: number | null;
  readonly graceMs: number | null;
  readonly secrets: ((input: unknown) => readonly string[]) | null;
  /** Types only; never present. */
  readonly '~types'?: { readonly input: In; readonly output: Out };
}
