/**
 * `leasehold run`: an exported function of a module.
 *
 * Invariant: what cannot be read, the module's address or the input, is a usage error, and nothing was started then.
 * Deliberately absent: where the record is kept (`carry-out.ts`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Tool } from '../index.ts';
import { defineTool } from '../index.ts';
import type { RunOrder } from './arguments.ts';
import { type CarriedOut, carryOut, toolNameOf, wordsOf } from './carry-out.ts';

/** Carries out the order. */
export function runModule(order: RunOrder): Promise<CarriedOut> {
  return carryOut(order, async () => ({
    tool: await named('MODULE', async () => toolOf(order)),
    input: await named('--input', () => readInput(order.input)),
    passthrough: false,
  }));
}

/** Puts the name of the argument before what is wrong with it. */
async function named<T>(argument: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new Error(`${argument}: ${wordsOf(error)}`);
  }
}

function toolOf({ module, exportName, effects }: RunOrder): Tool {
  const name = toolNameOf(basename(module, extname(module)));
  return defineTool({ name, module: moduleAddress(module), exportName, input: z.unknown(), effects });
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
