/**
 * `powershellTool`: a PowerShell script as a tool, from a file or as text.
 *
 * Invariants: each run has a fresh PowerShell; a script given as text is read whole from standard input by a fixed
 * bootstrap, so neither it nor what comes from the input is ever a part of a command line, or read line by line.
 * Deliberately absent: pools of sessions, which keep state of earlier runs.
 */
import type { z } from 'zod';
import { invalidOption } from '../model/errors.ts';
import { functionOr, wordOr } from '../model/option-checks.ts';
import type { Tool } from '../model/tool.ts';
import { readClixml } from './clixml.ts';
import {
  argumentsFor,
  type CommandTerms,
  type CommandValue,
  commandTool,
  type Invocation,
  isText,
  type StdinContent,
  scriptOf,
  stdinFor,
} from './command.ts';

const POLICIES = ['AllSigned', 'Bypass', 'Default', 'RemoteSigned', 'Restricted', 'Undefined', 'Unrestricted'] as const;

export interface PowershellToolDefinition<I extends z.ZodType = z.ZodType> extends CommandTerms<I> {
  /**
   * The script as text; either this or `file`. **Never put a part of the input into it**: whoever chooses that part
   * chooses what is run. A fixed script takes what comes from the input from `args`, as `$args` or by a `param` block.
   */
  readonly script?: string | ((input: z.output<I>) => string);
  /** A script file. */
  readonly file?: string;
  /**
   * The arguments of the script for one accepted input. Default none. Those of `file` stand on the command line, where
   * every user can read them and one that begins with a dash names a parameter; those of `script` do neither.
   */
  readonly args?: (input: z.output<I>) => readonly string[];
  /** What the script reads on standard input; only with `file`. Default: nothing. */
  readonly stdin?: (input: z.output<I>) => StdinContent;
  /** A path, or a name that is looked up on the `PATH`. Default `'pwsh'`. */
  readonly executable?: string;
  /** Passed on where there are execution policies, which is on Windows. Default: the machine's. */
  readonly executionPolicy?: (typeof POLICIES)[number];
}

const OWN = ['script', 'file', 'args', 'stdin', 'executable', 'executionPolicy'];
const SWITCHES = ['-NoLogo', '-NoProfile', '-NonInteractive'];
const IS_WINDOWS = process.platform === 'win32';
/** Holds the arguments of a script from standard input; the bootstrap takes it away before the script begins. */
const ARGUMENTS_VARIABLE = 'LEASEHOLD_POWERSHELL_ARGUMENTS';

/**
 * The same for every script. PowerShell reads standard input itself as soon as a command names the automatic variable for
 * it, and then decodes it by the console's code page; so this one opens the bytes. An error is written by the host, which
 * keeps standard error in one format. Flow control of the script, such as `exit 3`, passes the `catch`.
 */
const BOOTSTRAP = `
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$LeaseholdUtf = New-Object -TypeName System.Text.UTF8Encoding -ArgumentList $false
try { [Console]::OutputEncoding = $LeaseholdUtf } catch { }
$OutputEncoding = $LeaseholdUtf
if (Test-Path -LiteralPath variable:PSStyle) { $PSStyle.OutputRendering = 'PlainText' }
try {
  $LeaseholdReader = New-Object -TypeName System.IO.StreamReader -ArgumentList ([Console]::OpenStandardInput()), $LeaseholdUtf
  $LeaseholdScript = [ScriptBlock]::Create($LeaseholdReader.ReadToEnd())
  $LeaseholdArguments = @("$env:${ARGUMENTS_VARIABLE}".Split(' ') | Where-Object { $_ } | ForEach-Object {
    $LeaseholdUtf.GetString([Convert]::FromBase64String($_.Substring(1)))
  })
  Remove-Item -LiteralPath env:${ARGUMENTS_VARIABLE} -ErrorAction SilentlyContinue
  & $LeaseholdScript @LeaseholdArguments
} catch {
  $Host.UI.WriteErrorLine(($_ | Out-String).TrimEnd())
  exit 1
}
exit 0
`;
const ENCODED_BOOTSTRAP = Buffer.from(BOOTSTRAP, 'utf16le').toString('base64');

/**
 * A tool that runs a PowerShell script. Value, stops and failures are those of `processTool`; a PowerShell that is not
 * installed fails the run with `SPAWN_FAILED`. Errors and warnings that PowerShell wrote as CLIXML are told as text.
 *
 * As text, the script runs with the `Stop` preference: its first error ends it with exit code 1. Otherwise its exit code
 * is 0, as that of a file is: `exit $LASTEXITCODE` tells the code of the program it ran last.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the option
 */
export function powershellTool<I extends z.ZodType>(
  definition: PowershellToolDefinition<I>,
): Tool<z.input<I>, CommandValue> {
  return commandTool('powershellTool', definition, OWN, () => invocationOf(definition), readClixml);
}

function invocationOf<I extends z.ZodType>(
  definition: PowershellToolDefinition<I>,
): (input: z.output<I>) => Invocation {
  const { file, executable = 'pwsh', executionPolicy } = definition;
  if (!isText(executable)) throw invalidOption('executable', executable, 'a path or the name of a PowerShell');
  const policy = executionPolicy === undefined ? null : wordOr('executionPolicy', executionPolicy, POLICIES, 'Default');
  const switches = policy !== null && IS_WINDOWS ? [...SWITCHES, '-ExecutionPolicy', policy] : SWITCHES;
  const args = functionOr('args', definition.args);
  const stdin = functionOr('stdin', definition.stdin);
  if ((file === undefined) === (definition.script === undefined))
    throw invalidOption('script', definition.script, 'given, or else "file", and not both');
  if (file !== undefined) {
    // A single dash is standard input, read and run line by line.
    if (!isText(file) || file === '-') throw invalidOption('file', file, 'the path of a script');
    return (input) => ({
      file: executable,
      args: Object.freeze([...switches, '-File', file, ...argumentsFor(args, input)]),
      stdin: stdinFor(stdin, input),
    });
  }
  if (stdin !== null)
    throw invalidOption('stdin', stdin, 'given only with "file": a script given as text comes that way');
  const script = scriptOf<z.output<I>>(definition.script as string);
  return (input) => ({
    file: executable,
    args: Object.freeze([...switches, '-EncodedCommand', ENCODED_BOOTSTRAP]),
    stdin: script(input),
    set: args === null ? {} : { [ARGUMENTS_VARIABLE]: encodedArguments(argumentsFor(args, input)) },
  });
}

/** Each after a dot, so that an empty one is there too. */
function encodedArguments(args: readonly string[]): string {
  return args.map((arg) => `.${Buffer.from(arg, 'utf8').toString('base64')}`).join(' ');
}
