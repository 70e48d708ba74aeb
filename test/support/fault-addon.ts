/**
 * A native addon that crashes: its first instruction writes where nothing is.
 *
 * Invariant: built when it is needed, by the compiler of the machine that runs the tests; whether there is one is known when
 * they are collected. Deliberately absent: Node's headers. An addon is known by the one symbol it exports.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SOURCE = `
void *napi_register_module_v1(void *env, void *exports) {
  *(volatile int *)8 = 1;
  return exports;
}
`;

export interface Addon {
  readonly path: string;
  remove(): void;
}

export const HAS_COMPILER = spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0;

export function buildCrashingAddon(): Addon {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-addon-'));
  const [source, path] = [join(folder, 'crash.c'), join(folder, 'crash.node')];
  writeFileSync(source, SOURCE);
  execFileSync('cc', ['-shared', '-fPIC', '-o', path, source]);
  return { path, remove: () => rmSync(folder, { recursive: true }) };
}
