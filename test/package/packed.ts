/**
 * The packed tarball, installed into empty projects without a network.
 *
 * Invariant: a project holds only what npm would put there: the files of the tarball, and links to the run-time
 * dependencies. Deliberately absent: building; what is packed is the `dist` that the other tests use.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../support/sources.ts';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export function ended(file: string, args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd, env: { ...process.env, NODE_OPTIONS: '' } }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

async function done(file: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await ended(file, args, cwd);
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

export interface Project {
  readonly root: string;
  /** Where the package is installed. */
  readonly installed: string;
  write(path: string, lines: readonly string[]): Promise<void>;
  /** Runs a file of the project by this Node. */
  node(...args: readonly string[]): Promise<Ended>;
}

export interface Tarball {
  /** Paths in the tarball, without npm's leading folder. */
  readonly files: readonly string[];
  install(directory: string): Promise<Project>;
  remove(): Promise<void>;
}

/** Packs what is built. No script runs: a build here would replace what other tests are using. */
export async function pack(): Promise<Tarball> {
  const place = await mkdtemp(join(tmpdir(), 'leasehold-packed-'));
  const [packed] = JSON.parse(
    await done('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', place], ROOT),
  ) as [{ filename: string; files: { path: string }[] }];

  return {
    files: packed.files.map(({ path }) => path),

    async install(directory) {
      const root = join(place, directory);
      const installed = join(root, 'node_modules', manifest.name);
      await mkdir(installed, { recursive: true });
      await done('tar', ['-xzf', join(place, packed.filename), '-C', installed, '--strip-components=1'], root);
      for (const dependency of Object.keys(manifest.dependencies)) {
        await symlink(join(ROOT, 'node_modules', dependency), join(root, 'node_modules', dependency), 'junction');
      }
      return {
        root,
        installed,
        async write(path, lines) {
          await mkdir(dirname(join(root, path)), { recursive: true });
          await writeFile(join(root, path), `${lines.join('\n')}\n`);
        },
        node: (...args) => ended(process.execPath, args, root),
      };
    },

    remove: () => rm(place, { recursive: true, force: true }),
  };
}
