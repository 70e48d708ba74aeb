/**
 * The built binary as a real process, followed by its events.
 *
 * Invariant: a process started here is ended by itself or by the test's own signal; nothing is awaited but its events.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const binary = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

export const toolPath = (name: string): string => fileURLToPath(new URL(`./tools/${name}.mjs`, import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly child: ChildProcess;
  /** Resolves once standard error holds the text. */
  untilSaid(text: string): Promise<void>;
  readonly ended: Promise<Ended>;
}

/** `stdin` null: standard input stays open. `env`: beside that of the test. */
export function startCli(
  args: readonly string[],
  stdin: string | null = '',
  env: Readonly<Record<string, string>> = {},
): RunningCli {
  const child = spawn(process.execPath, [binary, ...args], { stdio: 'pipe', env: { ...process.env, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  if (stdin !== null) child.stdin.end(stdin);
  return {
    child,
    async untilSaid(text) {
      while (!stderr.includes(text)) {
        if (child.exitCode !== null) throw new Error(`ended without saying '${text}': ${stderr}`);
        await once(child.stderr, 'data');
      }
    },
    ended: once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr })),
  };
}

export const runCli = (
  args: readonly string[],
  stdin?: string | null,
  env?: Readonly<Record<string, string>>,
): Promise<Ended> => startCli(args, stdin, env).ended;
