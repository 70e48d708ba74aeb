/**
 * `shellTool`: a script for a POSIX shell as a tool.
 *
 * Invariant: the script is one argument after `-c`, and what comes from the input can reach it as positional parameters,
 * which no shell reads as code. Deliberately absent: quoting, which is never needed that way.
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
  scriptOf,
  stdinFor,
} from './command.ts';

export interface ShellToolDefinition<I extends z.ZodType = z.ZodType> extends CommandTerms<I> {
  /**
   * The script. **Never put a part of the input into it**: whoever chooses that part chooses what is run. A fixed script
   * with `args` does without: `script: 'grep -c -- "$1" "$2"', args: (input) => [input.word, input.file]`.
   */
  readonly script: string | ((input: z.output<I>) => string);
  /** The positional parameters `"$1"`, `"$2"`… for one accepted input; quoted so, they are never read as code. Default none. */
  readonly args?: (input: z.output<I>) => readonly string[];
  /** A shell that takes `-c SCRIPT NAME ARGS…`. Default `'/bin/sh'`. */
  readonly shell?: string;
  /** What the script reads on standard input. Default: nothing. */
  readonly stdin?: (input: z.output<I>) => StdinContent;
}

/**
 * A tool that runs a script in a fresh shell; the script's `$0` is the tool's name. Value, stops and failures are those of
 * `processTool`. The script is an argument: every user of the machine can read it, and systems bound its length (Linux:
 * 128 KiB), so secrets belong in `env` or `stdin`.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function shellTool<I extends z.ZodType>(definition: ShellToolDefinition<I>): Tool<z.input<I>, CommandValue> {
  return commandTool('shellTool', definition, ['script', 'args', 'shell', 'stdin'], () => {
    const { name, shell = '/bin/sh' } = definition;
    if (!isText(shell)) throw invalidOption('shell', shell, 'a path or the name of a shell');
    const script = scriptOf(definition.script);
    const args = functionOr('args', definition.args);
    const stdin = functionOr('stdin', definition.stdin);
    return (input) => ({
      file: shell,
      args: Object.freeze(['-c', script(input), name, ...argumentsFor(args, input)]),
      stdin: stdinFor(stdin, input),
    });
  });
}
