/**
 * `leasehold run`: one module, one request, one exit code.
 *
 * Invariants: the only place with signal handlers, and they are gone when the run has ended; standard output carries the
 * value or the result and nothing else. Uses the public surface alone, as any embedder would.
 * Deliberately absent: a log on disk (`--log`), which is not available yet.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { RunScope, Supervisor, Tool } from '../index.ts';
import { createSupervisor, defineTool } from '../index.ts';
import type { RunOrder } from './arguments.ts';
import { Report } from './report.ts';
import { EXIT_CODES, EXIT_USAGE } from './usage.ts';
import { resultText, valueText } from './value-text.ts';

/** Nothing runs any more when this is waited for: a thread that has not ended by then will not. */
const CLOSE_MS = 1_000;

/** Carries out the order. Resolves with the process's exit code; a thread that could not be ended may still hold it. */
export async function runModule(order: RunOrder): Promise<{ exitCode: number; abandoned: number }> {
  const report = new Report(process.stderr);
  let input: unknown;
  let tool: Tool;
  try {
    tool = toolOf(order);
  } catch (error) {
    report.line(`leasehold: MODULE: ${error instanceof Error ? error.message : String(error)}`);
    return { exitCode: EXIT_USAGE, abandoned: 0 };
  }
  try {
    input = await readInput(order.input);
  } catch (error) {
    report.line(`leasehold: --input: ${error instanceof Error ? error.message : String(error)}`);
    return { exitCode: EXIT_USAGE, abandoned: 0 };
  }
  const supervisor = createSupervisor({ isolates: 1, standby: 0 });
  const scope = supervisor.openScope({ tenant: 'cli' });
  const forgetSignals = followSignals(supervisor, scope, report);
  try {
    const result = await scope.runTool(tool, input, {
      ...(order.runTimeoutMs === null ? {} : { runTimeoutMs: order.runTimeoutMs }),
      ...(order.operationTimeoutMs === null ? {} : { operationTimeoutMs: order.operationTimeoutMs }),
      ...(order.graceMs === null ? {} : { graceMs: order.graceMs }),
      onProgress: ({ value, note }) => report.progress(value, note ?? ''),
      onOutput: ({ text: words }) => report.output(words),
    });
    report.summary(result);
    await print(order.json ? resultText(result) : valueText(result.value));
    const { abandoned } = await supervisor.close({ withinMs: CLOSE_MS });
    if (abandoned.length > 0) report.line('leasehold: the tool is stuck in a system call; ending the process');
    return { exitCode: EXIT_CODES[result.status], abandoned: abandoned.length };
  } finally {
    forgetSignals();
  }
}

function toolOf(order: RunOrder): Tool {
  const module = moduleAddress(order.module);
  const stem = basename(order.module, extname(order.module)).toLowerCase();
  const name = stem.replace(/[^a-z0-9._-]/g, '-').replace(/^[^a-z]+/, '');
  return defineTool({
    name: name.slice(0, 64) || 'tool',
    module,
    exportName: order.exportName,
    input: z.unknown(),
    effects: order.effects,
  });
}

/** A file where there is one, else a package of the current directory, else the path again so that loading tells. */
function moduleAddress(module: string): URL {
  if (module.startsWith('file:')) return new URL(module);
  const path = resolve(module);
  if (existsSync(path) || /^[./\\]/.test(module)) return pathToFileURL(path);
  try {
    return pathToFileURL(createRequire(join(process.cwd(), 'package.json')).resolve(module));
  } catch {
    return pathToFileURL(path);
  }
}

async function readInput(source: string | null): Promise<unknown> {
  if (source === null) return undefined;
  if (source === '-') return JSON.parse(await text(process.stdin));
  return JSON.parse(source.startsWith('@') ? readFileSync(source.slice(1), 'utf8') : source);
}

/**
 * The first Ctrl-C cancels, the second forces; a third finds no handler and ends the process as the system does.
 * Told to end or hung up on, the supervisor closes and the run counts as interrupted.
 */
function followSignals(supervisor: Supervisor, scope: RunScope, report: Report): () => void {
  let interrupts = 0;
  const onInterrupt = (): void => {
    interrupts += 1;
    const force = interrupts > 1;
    report.line(force ? 'forcing the end' : 'cancelling; Ctrl-C again forces the end');
    scope.cancel(force ? 'second Ctrl-C' : 'Ctrl-C', { force });
    if (force) process.off('SIGINT', onInterrupt);
  };
  const onEnd = (signal: NodeJS.Signals): void => {
    report.line(`closing on ${signal}`);
    void supervisor.close();
  };
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onEnd);
  process.on('SIGHUP', onEnd);
  return () => {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onEnd);
    process.off('SIGHUP', onEnd);
  };
}

/** Waits until a pipe has taken the text. A reader that went away early is no error of the run. */
function print(words: string): Promise<void> {
  return new Promise((done) => {
    if (words === '') return done();
    process.stdout.once('error', () => done());
    process.stdout.write(`${words}\n`, () => done());
  });
}
