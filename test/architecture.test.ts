/**
 * The house rules that a machine can check, over the sources.
 *
 * Invariant: each rule names every offender at once. Deliberately absent: what lint already bans by identifier, and
 * what only the built package can show (`dist.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { exportedNamesOf, headerOf, importsOf, parse, pathsUnder, type Source, TREES } from './support/sources.ts';

const sources = TREES.flatMap((tree) => pathsUnder(tree, /\.ts$/)).map(parse);
const programs = ['scripts', 'bench', 'examples'].flatMap((tree) => pathsUnder(tree, /\.(mjs|ts)$/));
const tests = pathsUnder('test', /\.(mjs|ts)$/);

/** Lower may be imported by higher; equals only where no cycle comes of it. */
const LAYERS: Record<string, number> = {
  machines: 0,
  'src/model': 0,
  'src/decide': 1,
  'src/wire': 1,
  'src/output': 1,
  'src/record': 1,
  'src/sqlite': 2,
  'src/scope': 2,
  'src/process': 2,
  'src/isolate': 3,
  'src/run': 4,
  'src/authorize': 4,
  'src/tools': 5,
  src: 6,
  'src/sync': 7,
  'src/cli': 8,
};
const INDEX = 7;
const FAR = ['workers', 'src/model', 'src/wire', 'src/output'];
/** Who may import a library: a file, or a folder. */
const DOORS: Record<string, readonly string[]> = {
  piscina: ['src/isolate/thread-pool.ts'],
  comlink: ['src/wire/channel.ts'],
  undici: ['src/tools/http-exchange.ts'],
  'better-sqlite3': ['src/sqlite'],
  'node:sqlite': ['src/sqlite'],
  'node:worker_threads': ['src/isolate', 'src/wire', 'src/sync', 'workers'],
  'node:child_process': ['src/process', 'workers'],
  'node:async_hooks': [],
};
const FORBIDDEN = /^(managers?|helpers?|utils?|utilities|common|misc|base|core|info|data|impl|services?|processors?)$/;
/** Names that api.md or the platform gave, not we. */
const GIVEN = new Set(['IsolateInfo']);

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function layerOf(path: string): number {
  return path === 'src/index.ts' ? INDEX : (LAYERS[folderOf(path)] ?? Number.NaN);
}

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.toLowerCase());
}

/** Rings of files or folders that import one another, each told once by its members. */
function ringsOf(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>();
  const rings: string[] = [];
  const visit = (at: string, trail: readonly string[]): void => {
    const start = trail.indexOf(at);
    if (start >= 0) rings.push([...trail.slice(start), at].join(' → '));
    if (start >= 0 || done.has(at)) return;
    for (const next of edges.get(at) ?? []) visit(next, [...trail, at]);
    done.add(at);
  };
  for (const at of edges.keys()) visit(at, []);
  return rings;
}

function edgesBy(nameOf: (path: string) => string): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>();
  for (const source of sources) {
    const from = nameOf(source.path);
    const targets = edges.get(from) ?? new Set();
    edges.set(from, targets);
    for (const target of importsOf(source)) {
      if (target.endsWith('.ts') && nameOf(target) !== from) targets.add(nameOf(target));
    }
  }
  return edges;
}

function offences(rule: (source: Source, target: string) => boolean): string[] {
  return sources.flatMap((source) =>
    importsOf(source)
      .filter((target) => rule(source, target))
      .map((target) => `${source.path} imports ${target}`),
  );
}

describe('directions', () => {
  it('every folder has a layer', () => {
    const known = sources.filter(({ path }) => !path.startsWith('workers/'));
    expect(known.filter(({ path }) => Number.isNaN(layerOf(path))).map(({ path }) => path)).toEqual([]);
    expect(sources.length).toBeGreaterThan(0);
  });

  it('imports never point upwards', () => {
    const upwards = offences(({ path }, target) => {
      if (path.startsWith('workers/') || !target.endsWith('.ts') || target.startsWith('workers/')) return false;
      return layerOf(target) > layerOf(path);
    });
    expect(upwards).toEqual([]);
  });

  it('src and machines reach the far side by address only', () => {
    expect(offences(({ path }, target) => !path.startsWith('workers/') && target.startsWith('workers/'))).toEqual([]);
  });

  it('the far side imports words, wire and output only', () => {
    const wrong = offences(({ path }, target) => {
      if (!path.startsWith('workers/')) return false;
      return !(target.startsWith('node:') || (target.endsWith('.ts') && FAR.includes(folderOf(target))));
    });
    expect(wrong).toEqual([]);
  });

  it('machines import xstate only, and model zod and the platform only', () => {
    const wrong = offences(({ path }, target) => {
      if (path.startsWith('machines/')) return target !== 'xstate' && folderOf(target) !== 'machines';
      if (!path.startsWith('src/model/')) return false;
      return target !== 'zod' && !target.startsWith('node:') && folderOf(target) !== 'src/model';
    });
    expect(wrong).toEqual([]);
  });

  it('no files import one another', () => {
    expect(ringsOf(edgesBy((path) => path))).toEqual([]);
  });

  it('no folders import one another', () => {
    expect(ringsOf(edgesBy((path) => (path === 'src/index.ts' ? 'index' : folderOf(path))))).toEqual([]);
  });

  it('each library has one door', () => {
    const wrong = offences(({ path }, target) => {
      const doors = DOORS[target];
      return doors?.every((door) => path !== door && folderOf(path) !== door) ?? false;
    });
    expect(wrong).toEqual([]);
  });

  it('only what the package declares is imported', async () => {
    const manifest = await import('../package.json', { with: { type: 'json' } });
    const declared = Object.keys({ ...manifest.default.dependencies, ...manifest.default.peerDependencies });
    const foreign = offences(
      (_source, target) => !target.startsWith('node:') && !target.endsWith('.ts') && !declared.includes(target),
    );
    expect(foreign).toEqual([]);
  });
});

describe('files', () => {
  it('none is longer than 300 lines', () => {
    const long = [...sources, ...[...programs, ...tests].map(parse)]
      .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > 300);
    expect(long).toEqual([]);
  });

  it('each source begins with a header of two to six lines', () => {
    const wrong = sources
      .filter((source) => {
        const lines = headerOf(source).length;
        // A machine carries its table of states in its header.
        return lines < 2 || (lines > 6 && !source.path.startsWith('machines/'));
      })
      .map((source) => `${source.path}: ${headerOf(source).length}`);
    expect(wrong).toEqual([]);
  });

  it('each script, benchmark and test begins with a header', () => {
    const shown = [...programs, ...tests].filter((path) => !/\/(fixtures|tools)\//.test(path));
    expect(shown.filter((path) => headerOf(parse(path)).length === 0)).toEqual([]);
  });

  it('no name is one that says nothing', () => {
    const paths = [...sources.map(({ path }) => path), ...programs, ...tests];
    const wrong = paths.filter((path) => wordsOf(path.replace(/\.\w+$/, '')).some((word) => FORBIDDEN.test(word)));
    expect(wrong).toEqual([]);
    expect(paths.filter((path) => /[a-z]-?\d+\.(test\.)?\w+$/.test(path))).toEqual([]);
  });

  it('nothing is left to be done', () => {
    const wrong = [...sources, ...[...programs, ...tests].map(parse)].filter(({ text }) =>
      new RegExp(['TO', 'DO|FIX', 'ME|XX', 'X\\b'].join('')).test(text),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  it('nothing names a place on the machine it was written on', () => {
    const documents = ['README.md', 'CHANGELOG.md', 'package.json', ...pathsUnder('.github', /\.md$/)];
    const scripts = pathsUnder('.ci', /./);
    const results = pathsUnder('bench', /\.json$/);
    const wrong = [
      ...sources.map(({ path }) => path),
      ...programs,
      ...tests,
      ...documents,
      ...scripts,
      ...results,
    ].filter((path) => new RegExp(['(^|[^\\w.])/(wo', 'rk|ro', 'ot|ho', 'me)/\\w'].join('')).test(parse(path).text));
    expect(wrong).toEqual([]);
  });
});

describe('exported names', () => {
  const names = sources.flatMap((source) => exportedNamesOf(source).map((name) => ({ path: source.path, name })));

  it('say something', () => {
    const empty = names.filter(({ name }) => !GIVEN.has(name) && wordsOf(name).some((word) => FORBIDDEN.test(word)));
    expect(empty).toEqual([]);
  });

  it('carry no prefix for interfaces and no number at the end', () => {
    expect(names.filter(({ name }) => /^I[A-Z][a-z]/.test(name) || /[a-z]\d+$/.test(name))).toEqual([]);
  });

  it('are spelled cancelled and cancellation', () => {
    expect(names.filter(({ name }) => /canceled|canceling|cancelation/i.test(name))).toEqual([]);
  });
});
