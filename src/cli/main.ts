#!/usr/bin/env node
/**
 * The binary `leasehold`.
 *
 * Invariant: sets the exit code and lets the process end by itself; it is killed only when a thread that sits in a
 * system call would hold it for ever, after everything was printed.
 * Deliberately absent: any work; each command has a file of its own.
 */
import { createRequire } from 'node:module';
import { parseCommandLine } from './arguments.ts';
import { execCommand } from './exec-command.ts';
import { showLog } from './log-command.ts';
import { recoverLog } from './recover-command.ts';
import { runModule } from './run-module.ts';
import { EXIT_USAGE, USAGE } from './usage.ts';

const order = parseCommandLine(process.argv.slice(2));
switch (order.kind) {
  case 'help':
    process.stdout.write(USAGE);
    break;
  case 'version':
    process.stdout.write(`${createRequire(import.meta.url)('leasehold/package.json').version}\n`);
    break;
  case 'usage':
    process.stderr.write(`leasehold: ${order.message}\nTry 'leasehold --help'.\n`);
    process.exitCode = EXIT_USAGE;
    break;
  case 'log':
    process.exitCode = await showLog(order);
    break;
  case 'recover':
    process.exitCode = await recoverLog(order);
    break;
  case 'run':
  case 'exec': {
    const { exitCode, stuck } = await (order.kind === 'run' ? runModule(order) : execCommand(order));
    process.exitCode = exitCode;
    // `process.exit` joins all threads and would wait with the blocked one.
    if (stuck) process.kill(process.pid, 'SIGKILL');
  }
}
