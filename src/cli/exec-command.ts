/**
 * `leasehold exec`: a command, its arguments untouched.
 *
 * Invariant: it is given the environment of the binary, and standard input only when that was asked for. Deliberately
 * absent: a shell, which would read the arguments a second time.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { processTool } from '../tools/process.ts';
import type { ExecOrder } from './arguments.ts';
import { type CarriedOut, carryOut, type Errand, toolNameOf } from './carry-out.ts';

/** Carries out the order. */
export async function execCommand(order: ExecOrder): Promise<CarriedOut> {
  try {
    return await carryOut(order, async () => errandOf(order));
  } finally {
    // A pending read would hold the process after the command has ended.
    if (order.stdin) process.stdin.destroy();
  }
}

function errandOf(order: ExecOrder): Errand {
  const { file, args, cwd, effects, okExitCodes, passthrough } = order;
  const tool = processTool({
    name: toolNameOf(basename(file)),
    file,
    args: () => args,
    input: z.undefined(),
    effects,
    okExitCodes,
    // The marker of a supervisor this binary runs under is among them, and gives way to that of its own.
    env: { inherit: Object.keys(process.env) },
    ...(cwd === null ? {} : { cwd }),
    ...(order.stdin ? { stdin: () => process.stdin } : {}),
  });
  return { tool, input: undefined, passthrough };
}
