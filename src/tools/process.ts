/**
 * `processTool`: a program and its arguments as a tool.
 *
 * Invariant: no shell is involved: an argument reaches the program as it is, whatever characters it holds.
 * Deliberately absent: what all tools for programs share (`command.ts`).
 */
import type { z } from 'zod';
import { invalidOption } from '../model/errors.ts';
import { functionOr } from '../model/option-checks.ts';
import type { Tool } from '../model/tool.ts';
import {
  argumentsFor,
  type CommandTerms,
  type CommandValue,
  commandTool,
  isText,
  type StdinContent,
  stdinFor,
} from './command.ts';

export interface ProcessToolDefinition<I extends z.ZodType = z.ZodType> extends CommandTerms<I> {
  /** A path, or a name that is looked up on the `PATH` of the program's own environment. */
  readonly file: string;
  /** The arguments for one accepted input, without the program's name. */
  readonly args: (input: z.output<I>) => readonly string[];
  /** What it reads on standard input. Default: nothing, it sees the end at once. A stream is read to its end or the run's. */
  readonly stdin?: (input: z.output<I>) => StdinContent;
}

/**
 * A tool that runs a program in a process of its own, with a group and a session of its own. Its value is how the program
 * ended, with an exit code of `okExitCodes`; every other end fails the run. What the program wrote is the result's `output`.
 * A stop sends TERM to the group, and KILL after the grace.
 *
 * An argument that comes from the input and begins with a dash may be taken for an option: put `--` before it where the
 * program knows that. A function that throws, or returns what is not accepted, fails the run with `TOOL_ERROR`.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function processTool<I extends z.ZodType>(definition: ProcessToolDefinition<I>): Tool<z.input<I>, CommandValue> {
  return commandTool('processTool', definition, ['file', 'args', 'stdin'], () => {
    const { file } = definition;
    if (!isText(file)) throw invalidOption('file', file, 'a path or the name of a program');
    const args = functionOr('args', definition.args);
    if (args === null) throw invalidOption('args', args, 'a function that returns an array of strings');
    const stdin = functionOr('stdin', definition.stdin);
    return (input) => ({ file, args: argumentsFor(args, input), stdin: stdinFor(stdin, input) });
  });
}
