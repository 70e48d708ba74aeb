/**
 * `listFilesTool` on real trees: what is told, in which order, and where it ends.
 *
 * Invariant: whatever stands in the tree, the listing ends and its size is bounded. Deliberately absent: paths that lead
 * outside (`rooted-path.test.ts`).
 */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ListFilesInput, type ListFilesValue, listFilesTool } from '../../src/tools/list-files.ts';
import { inlineRig, serveInline } from '../support/inline-context.ts';
import { asStranger, failureOf, makeFifo, scratch } from './scratch.ts';

async function list(root: string, input: ListFilesInput, maxEntries = 10_000, rig = inlineRig()) {
  const tool = listFilesTool({ name: 'list', root, maxEntries });
  return tool.output?.parse(await serveInline(tool, input, rig.context)) as ListFilesValue;
}
async function pathsIn(...given: Parameters<typeof list>): Promise<string[]> {
  return (await list(...given)).entries.map(({ path }) => path);
}

/** `a/`, `a/b/`, `a/b/c`, `a/x`, `z`. */
function tree(): string {
  const root = scratch();
  mkdirSync(join(root, 'a/b'), { recursive: true });
  for (const path of ['a/b/c', 'a/x', 'z']) writeFileSync(join(root, path), path);
  return root;
}

describe('listFilesTool', () => {
  it('tells one level, sorted, with kinds and sizes', async () => {
    const root = tree();
    makeFifo(join(root, 'fifo'));
    symlinkSync('a', join(root, 'link'));
    symlinkSync('/', join(root, 'outward'));
    const server = createServer();
    await new Promise<void>((listening) => server.listen(join(root, 'socket'), listening));
    const value = await list(root, { path: '.' });
    await new Promise((closed) => server.close(closed));
    expect(value).toEqual({
      entries: [
        { path: 'a', kind: 'directory', size: null },
        { path: 'fifo', kind: 'fifo', size: null },
        { path: 'link', kind: 'symlink', size: null },
        { path: 'outward', kind: 'symlink', size: null },
        { path: 'socket', kind: 'socket', size: null },
        { path: 'z', kind: 'file', size: 1 },
      ],
      truncated: false,
    });
  });

  it('goes as deep as it is told', async () => {
    const root = tree();
    expect(await pathsIn(root, { path: '.', depth: 2 })).toEqual(['a', 'a/b', 'a/x', 'z']);
    expect(await pathsIn(root, { path: '.', depth: 9 })).toEqual(['a', 'a/b', 'a/b/c', 'a/x', 'z']);
    expect(await pathsIn(root, { path: 'a/b' })).toEqual(['a/b/c']);
  });

  it('lists what a link inside leads to, by the path of the link', async () => {
    const root = tree();
    symlinkSync('a', join(root, 'link'));
    expect(await pathsIn(root, { path: 'link' })).toEqual(['link/b', 'link/x']);
  });

  it('follows no link below, so that a loop ends', async () => {
    const root = tree();
    symlinkSync('..', join(root, 'a/up'));
    expect(await pathsIn(root, { path: '.', depth: 50 })).toEqual(['a', 'a/b', 'a/b/c', 'a/up', 'a/x', 'z']);
  });

  it('tells devices without opening them', async () => {
    const { entries } = await list('/dev', { path: '.' });
    expect(entries).toContainEqual({ path: 'zero', kind: 'device', size: null });
  });

  it('refuses what is no directory, and tells what is missing', async () => {
    const root = tree();
    makeFifo(join(root, 'fifo'));
    expect((await failureOf(list(root, { path: 'z' }))).message).toBe('"z" is a file, not a directory.');
    expect(await failureOf(list(root, { path: 'fifo' }))).toMatchObject({ code: 'NOT_A_DIRECTORY' });
    expect(await failureOf(list(root, { path: 'gone' }))).toMatchObject({ code: 'ENOENT' });
  });

  it('takes only whole depths from one on', () => {
    const { input } = listFilesTool({ name: 'list', root: '/srv' });
    expect(input.parse({ path: 'a' })).toEqual({ path: 'a', depth: 1 });
    for (const depth of [0, -1, 1.5, Number.NaN, '2'])
      expect(input.safeParse({ path: 'a', depth }).success).toBe(false);
  });

  it('tells a directory it may not look into, and goes on', async () => {
    const root = tree();
    chmodSync(join(root, 'a/b'), 0o700);
    const { entries } = await asStranger(async () => {
      if (process.getuid?.() !== 0) chmodSync(join(root, 'a/b'), 0);
      return list(root, { path: '.', depth: 5 });
    });
    chmodSync(join(root, 'a/b'), 0o700);
    expect(entries.map(({ path, unreadable = false }) => [path, unreadable])).toEqual([
      ['a', false],
      ['a/b', true],
      ['a/x', false],
      ['z', false],
    ]);
    const failure = await asStranger(async () => {
      if (process.getuid?.() !== 0) chmodSync(join(root, 'a/b'), 0);
      return failureOf(list(root, { path: 'a/b' }));
    });
    chmodSync(join(root, 'a/b'), 0o700);
    expect(failure).toMatchObject({ name: 'FileError', code: 'EACCES' });
  });

  it('takes names with line breaks, quotes and bytes that are no text', async () => {
    const root = scratch();
    writeFileSync(join(root, 'two\nlines'), '');
    writeFileSync(join(root, '"q"\\'), '');
    mkdirSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.of(0x78, 0xff)]));
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.of(0x78, 0xff, 0x2f, 0xfe)]), '12');
    expect((await list(root, { path: '.', depth: 2 })).entries).toEqual([
      { path: '"q"\\', kind: 'file', size: 0 },
      { path: 'two\nlines', kind: 'file', size: 0 },
      { path: 'x\ufffd', kind: 'directory', size: null, lossy: true },
      { path: 'x\ufffd/\ufffd', kind: 'file', size: 2, lossy: true },
    ]);
  });

  it('for any names, tells each once, sorted, to be used as a path again', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((text) => !/[/\0]|^\.{1,2}$/.test(text));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { maxLength: 8 }), async (names) => {
        const root = scratch();
        for (const each of names) writeFileSync(join(root, each), each);
        const paths = await pathsIn(root, { path: '.' });
        expect(paths).toEqual([...names].sort());
        rmSync(root, { recursive: true });
      }),
      { numRuns: 40 },
    );
  });
});

describe('listFilesTool, at its bound', () => {
  it('tells that many and no more, upper levels first', async () => {
    const root = tree();
    expect(await pathsIn(root, { path: '.', depth: 5 }, 2)).toEqual(['a', 'z']);
    expect((await list(root, { path: '.', depth: 5 }, 2)).truncated).toBe(true);
    expect(await list(root, { path: '.' }, 2)).toMatchObject({ truncated: false });
    expect(await list(root, { path: '.' }, 0)).toEqual({ entries: [], truncated: true });
  });

  it('lists ten thousand entries, and stops reading at the bound', async () => {
    const root = scratch();
    const names = Array.from({ length: 10_000 }, (_, at) => `entry-${String(at).padStart(5, '0')}`);
    for (const name of names) writeFileSync(join(root, name), '');
    const whole = await list(root, { path: '.' });
    expect(whole.truncated).toBe(false);
    expect(whole.entries.map(({ path }) => path)).toEqual(names);
    let looks = 0;
    const rig = inlineRig({
      onLook: () => {
        looks += 1;
      },
    });
    const part = await list(root, { path: '.' }, 100, rig);
    expect({ told: part.entries.length, truncated: part.truncated }).toEqual({ told: 100, truncated: true });
    expect(looks).toBeLessThan(110);
  });

  it('ends in a tree deeper than any path can say', async () => {
    const root = scratch();
    const step = 'd'.repeat(100);
    const home = process.cwd();
    process.chdir(root);
    for (let level = 0; level < 60; level += 1) {
      mkdirSync(step);
      process.chdir(step);
    }
    process.chdir(home);
    const { entries } = await list(root, { path: '.', depth: 1_000 });
    expect(entries.length).toBeGreaterThan(30);
    expect(entries.length).toBeLessThan(60);
    expect(entries.filter(({ unreadable }) => unreadable)).toEqual([entries.at(-1)]);
  });
});

describe('listFilesTool, while it walks', () => {
  it('stopped at any look, throws the reason itself', async () => {
    const root = tree();
    let looks = 0;
    const count = inlineRig({
      onLook: (look) => {
        looks = look;
      },
    });
    await list(root, { path: '.', depth: 5 }, 100, count);
    expect(looks).toBeGreaterThan(5);
    for (let look = 1; look <= looks; look += 1) {
      const rig = inlineRig();
      rig.stopAtLook(look);
      await expect(list(root, { path: '.', depth: 5 }, 100, rig)).rejects.toBe(rig.reason);
    }
  });

  it('goes on when what it found is gone or became a link outward', async () => {
    const root = tree();
    let isDone = false;
    const onLook = (look: number): void => {
      if (look < 4 || isDone) return;
      isDone = true;
      rmSync(join(root, 'a'), { recursive: true });
      symlinkSync('/', join(root, 'a'));
    };
    const { entries } = await list(root, { path: '.', depth: 2 }, 100, inlineRig({ onLook }));
    expect(entries.find(({ path }) => path === 'a')).toEqual({
      path: 'a',
      kind: 'directory',
      size: null,
      unreadable: true,
    });
    expect(entries.filter(({ path }) => path.startsWith('a/'))).toEqual([]);
  });
});
