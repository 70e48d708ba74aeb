/**
 * What must not compile: an input that the tool's schema would refuse, and a tool that is not fully declared.
 *
 * Invariant: each mark stands over exactly one mistake; a mistake that compiles makes its mark an error.
 * Deliberately absent: anything that is only refused at run time.
 */
import { createSupervisor, defineTool, type RunResult } from 'leasehold';
import { z } from 'zod';

const supervisor = createSupervisor();

const measure = defineTool({
  name: 'measure',
  module: new URL('./measure.js', import.meta.url),
  input: z.object({ text: z.string(), unit: z.enum(['bytes', 'words']).default('bytes') }),
  output: z.object({ size: z.number() }),
  effects: 'none',
});

export const right: Promise<RunResult<{ size: number }>> = supervisor.runTool(measure, { text: 'four' });
export const explicit = supervisor.runTool(measure, { text: 'four', unit: 'words' }, { runTimeoutMs: 100 });

export const wrong = [
  // @ts-expect-error: the input is required
  supervisor.runTool(measure),
  // @ts-expect-error: the text is missing
  supervisor.runTool(measure, {}),
  // @ts-expect-error: the text is a number
  supervisor.runTool(measure, { text: 4 }),
  // @ts-expect-error: no such unit
  supervisor.runTool(measure, { text: 'four', unit: 'lines' }),
  // @ts-expect-error: no such field
  supervisor.runTool(measure, { text: 'four', words: true }),
  // @ts-expect-error: no such option
  supervisor.runTool(measure, { text: 'four' }, { timeout: 100 }),
  // @ts-expect-error: a duration is a number of milliseconds
  supervisor.runTool(measure, { text: 'four' }, { runTimeoutMs: '100' }),
  // @ts-expect-error: a signal, not a controller
  supervisor.runTool(measure, { text: 'four' }, { signal: new AbortController() }),
  // @ts-expect-error: the result is of another type
  supervisor.runTool(measure, { text: 'four' }) satisfies Promise<RunResult<{ size: string }>>,
  // @ts-expect-error: a function is not a tool
  supervisor.runTool(() => 4, { text: 'four' }),
];

// @ts-expect-error: effects are declared, never defaulted
export const undeclared = defineTool({ name: 'undeclared', module: '/tools/undeclared.js', input: z.string() });

export const misdeclared = defineTool({
  name: 'misdeclared',
  module: '/tools/misdeclared.js',
  input: z.string(),
  // @ts-expect-error: no such kind of effects
  effects: 'pure',
});

export const shapeless = defineTool({
  name: 'shapeless',
  module: '/tools/shapeless.js',
  // @ts-expect-error: the input is a schema
  input: { text: 'string' },
  effects: 'none',
});

// @ts-expect-error: no such option
createSupervisor({ threads: 4 });
// @ts-expect-error: no such sharing
createSupervisor({ share: 'everything' });
