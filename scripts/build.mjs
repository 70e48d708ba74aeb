/**
 * Compiles machines, src and workers into dist, mirroring the tree.
 *
 * Invariant: a build that fails leaves the last good one, and a good one holds nothing of an earlier tree.
 * Deliberately absent: bundling. The thread entry is found by its address beside the rest.
 */
import { spawnSync } from 'node:child_process';
import { renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const fresh = new URL(`node_modules/.leasehold-build-${process.pid}/`, root);
const stale = new URL(`node_modules/.leasehold-stale-${process.pid}/`, root);
const dist = new URL('dist/', root);

function remove(directory) {
  rmSync(directory, { recursive: true, force: true });
}

const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', fileURLToPath(fresh)], {
  cwd: root,
  stdio: 'inherit',
});
if (status === 0) {
  try {
    renameSync(dist, stale);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  renameSync(fresh, dist);
}
remove(fresh);
remove(stale);
process.exitCode = status ?? 1;
