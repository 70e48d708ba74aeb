/**
 * What Node is started with in a process isolate: its flags and its environment.
 *
 * Invariants: no flag of the host's is taken over; with permissions, what may be read beside what was asked for are the
 * files the isolate consists of and the modules it is to serve, and no variable can widen that.
 * Deliberately absent: networks, which Node's permission model does not cover on every line.
 */
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PERMISSION_FLAG, type Permissions } from '../model/permissions.ts';

/** Megabytes, as Node's `resourceLimits`; those that a process has no flag for are left out. */
export type MemoryLimits = { readonly [limit: string]: number };

/** The parts of an old and a new space that V8 counts into its young generation. */
const SEMI_SPACES = 3;

/** The build or the sources this package runs from. */
const tree = fileURLToPath(new URL('../../', import.meta.url));

export function memoryFlags({ maxOldGenerationSizeMb, maxYoungGenerationSizeMb }: MemoryLimits): string[] {
  const flags: string[] = [];
  if (maxOldGenerationSizeMb !== undefined) flags.push(`--max-old-space-size=${Math.ceil(maxOldGenerationSizeMb)}`);
  if (maxYoungGenerationSizeMb !== undefined)
    flags.push(`--max-semi-space-size=${Math.max(1, Math.floor(maxYoungGenerationSizeMb / SEMI_SPACES))}`);
  return flags;
}

/** `modules`: file URLs of what the isolate is to serve; a package's name opens nothing. */
export function permissionFlags(permissions: Required<Permissions>, modules: readonly string[]): string[] {
  if (PERMISSION_FLAG === null) return [];
  const served = modules.filter((module) => module.startsWith('file:')).map((module) => fileURLToPath(module));
  const read = new Set([...ownFiles(), ...served.flatMap(asLinked), ...permissions.fsRead]);
  return [
    PERMISSION_FLAG,
    ...[...read].map((path) => `--allow-fs-read=${path}`),
    ...permissions.fsWrite.map((path) => `--allow-fs-write=${path}`),
    ...(permissions.childProcess ? ['--allow-child-process'] : []),
    ...(permissions.worker ? ['--allow-worker'] : []),
  ];
}

/** The host's environment. `NODE_OPTIONS` could grant what was not asked for. */
export function isolateEnv(isRestricted: boolean): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
  if (isRestricted) delete env['NODE_OPTIONS'];
  return env;
}

/** Folders by their contents, files by themselves: this package's code and Comlink's. */
function ownFiles(): string[] {
  const manifests = [join(tree, 'package.json'), join(tree, '..', 'package.json')].filter((file) => existsSync(file));
  const folders = [join(tree, 'workers'), join(tree, 'src'), ...comlinkFolders()].flatMap(asLinked);
  return [...folders.map((folder) => `${folder}${sep}*`), ...manifests.flatMap(asLinked)];
}

/** Where it is looked for: a link in `node_modules`, as some package managers lay it, is read before what it stands for. */
function comlinkFolders(): string[] {
  const places = createRequire(import.meta.url).resolve.paths('comlink') ?? [];
  const folder = places.map((place) => join(place, 'comlink')).find((path) => existsSync(join(path, 'package.json')));
  return folder === undefined ? [] : [folder];
}

/** Node asks for a path as it was given, and for the one it stands for. */
function asLinked(path: string): string[] {
  try {
    const real = realpathSync(path);
    return real === path ? [path] : [path, real];
  } catch {
    return [path];
  }
}
