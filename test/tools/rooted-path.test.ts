/**
 * Rooted paths: what leads out of the root, before and after the open.
 *
 * Invariant: real links, FIFOs and directories. Deliberately absent: what the tools do with what they opened.
 */
import { constants, mkdirSync, readFileSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locate, openInside, rootOf, whereIs } from '../../src/tools/rooted-path.ts';
import { failureOf, makeFifo, scratch } from './scratch.ts';

/** A root beside a directory that is none of its business. */
function twoSides(): { root: string; outside: string } {
  const parent = scratch();
  const [root, outside] = [join(parent, 'root'), join(parent, 'root-outside')];
  for (const path of [root, outside]) {
    mkdirSync(path);
    writeFileSync(join(path, 'file'), path);
  }
  return { root, outside };
}

describe('rootOf', () => {
  it('takes a path from the working directory and a file URL', () => {
    expect(rootOf('files')).toBe(join(process.cwd(), 'files'));
    expect(rootOf(pathToFileURL('/srv/files'))).toBe('/srv/files');
  });

  it.each([undefined, '', 'a\0b', 7, new URL('https://example.org/')])('refuses %s', (root) => {
    expect(() => rootOf(root)).toThrow(/Option "root" must be a path or a file URL/);
  });
});

describe('locate', () => {
  it('names what it found relative to the root', async () => {
    const { root } = twoSides();
    const place = await locate(root, './/file', false);
    expect(place).toEqual({ root, real: join(root, 'file'), shown: 'file' });
    expect(await locate(root, '.', false)).toEqual({ root, real: root, shown: '.' });
  });

  it('accepts an absolute path inside the root, and through a link to the root', async () => {
    const { root } = twoSides();
    const link = join(scratch(), 'link');
    symlinkSync(root, link);
    const found = { root, real: join(root, 'file'), shown: 'file' };
    expect(await locate(root, join(root, 'file'), false)).toEqual(found);
    expect(await locate(link, join(link, 'file'), false)).toEqual(found);
    expect(await locate(link, join(root, 'file'), false)).toEqual(found);
  });

  it('refuses an absolute path outside, also one that begins with the name of the root', async () => {
    const { root, outside } = twoSides();
    for (const path of [join(outside, 'file'), '/etc/passwd', '/']) {
      expect(await failureOf(locate(root, path, true))).toMatchObject({ name: 'FileError', code: 'OUTSIDE_ROOT' });
    }
  });

  it("refuses '..' even where it would stay inside", async () => {
    const { root } = twoSides();
    for (const path of ['..', '../root-outside/file', 'a/../file', 'file/..', join(root, '../root-outside/file')]) {
      const failure = await failureOf(locate(root, path, true));
      expect(failure).toMatchObject({ code: expect.stringMatching(/^(INVALID_PATH|OUTSIDE_ROOT)$/) });
    }
  });

  it('refuses a NUL byte and names the path', async () => {
    const failure = await failureOf(locate(scratch(), 'a\0b', false));
    expect(failure).toMatchObject({ code: 'INVALID_PATH', message: '"a\\u0000b" holds a NUL byte.' });
  });

  it('follows links inside and refuses those that lead outside', async () => {
    const { root, outside } = twoSides();
    symlinkSync('file', join(root, 'inner'));
    symlinkSync('../root-outside', join(root, 'relative'));
    symlinkSync(outside, join(root, 'absolute'));
    expect((await locate(root, 'inner', false)).real).toBe(join(root, 'file'));
    for (const path of ['relative', 'relative/file', 'absolute/file', 'absolute/new']) {
      const failure = await failureOf(locate(root, path, true));
      expect(failure.message).toBe(`"${path}" leads outside the root by a link.`);
    }
  });

  it('tells a loop of links by its path, without a path of the machine', async () => {
    const root = scratch();
    symlinkSync('b', join(root, 'a'));
    symlinkSync('a', join(root, 'b'));
    const failure = await failureOf(locate(root, 'a/file', true));
    expect(failure).toMatchObject({ name: 'FileError', code: 'ELOOP' });
    expect(failure.message).toMatch(/^"a\/file" could not be reached: .*\(ELOOP\)\.$/);
    expect(failure.message).not.toContain(root);
  });

  it('finds a new name in a directory that exists, and none elsewhere', async () => {
    const root = scratch();
    expect((await locate(root, 'new', true)).real).toBe(join(root, 'new'));
    expect(await failureOf(locate(root, 'new', false))).toMatchObject({ code: 'ENOENT' });
    expect(await failureOf(locate(root, 'missing/new', true))).toMatchObject({ code: 'ENOENT' });
  });

  it('says that the root itself is missing', async () => {
    const failure = await failureOf(locate(join(scratch(), 'gone'), 'file', true));
    expect(failure.message).toMatch(/^"\." is the root, and could not be reached: .*\(ENOENT\)\.$/);
  });

  it("for any path of names and '..', ends inside the root or not at all", async () => {
    const { root } = twoSides();
    mkdirSync(join(root, 'sub'));
    const part = fc.constantFrom('..', '.', '', 'sub', 'file', '...', '..a', ' ', 'root-outside');
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), async (parts) => {
        const real = await locate(root, parts.join('/'), true).then(
          (place) => place.real,
          () => root,
        );
        expect(real === root || real.startsWith(`${root}/`)).toBe(true);
      }),
    );
  });
});

describe('openInside', () => {
  it('refuses after the open what a link put in between leads to', async () => {
    const { root, outside } = twoSides();
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, 'sub/file'), 'inside');
    const place = await locate(root, 'sub/file', false);
    renameSync(join(root, 'sub'), join(root, 'moved'));
    symlinkSync(outside, join(root, 'sub'));
    const failure = await failureOf(openInside(place, place.real, constants.O_RDONLY));
    expect(failure.message).toBe('"sub/file" led outside the root when it was opened.');
  });

  it('does not follow a last part that became a link', async () => {
    const { root, outside } = twoSides();
    const place = await locate(root, 'file', false);
    renameSync(join(root, 'file'), join(root, 'moved'));
    symlinkSync(join(outside, 'file'), join(root, 'file'));
    expect(await failureOf(openInside(place, place.real, constants.O_RDONLY))).toMatchObject({ code: 'ELOOP' });
  });

  it('opens a FIFO that nobody writes to without waiting', async () => {
    const root = scratch();
    makeFifo(join(root, 'pipe'));
    const { handle } = await openInside(await locate(root, 'pipe', false), join(root, 'pipe'), constants.O_RDONLY);
    expect((await handle.stat()).isFIFO()).toBe(true);
    await handle.close();
  });

  it('holds a directory whatever is renamed meanwhile', async () => {
    const { root, outside } = twoSides();
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, 'sub/file'), 'inside');
    const place = await locate(root, 'sub', false);
    const { handle, at } = await openInside(place, place.real, constants.O_RDONLY | constants.O_DIRECTORY);
    renameSync(join(root, 'sub'), join(root, 'moved'));
    symlinkSync(outside, join(root, 'sub'));
    expect(realpathSync(join(root, 'sub/file'))).toBe(join(outside, 'file'));
    expect(await readFile(join(at, 'file'), 'utf8')).toBe('inside');
    await handle.close();
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe(outside);
  });
});

describe('whereIs', () => {
  it('tells the real path of what is held, and null once the path leads elsewhere', async () => {
    const { root, outside } = twoSides();
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, 'sub/file'), 'inside');
    const path = join(root, 'sub/file');
    const handle = await open(path);
    expect(await whereIs(handle, path)).toBe(path);
    renameSync(join(root, 'sub'), join(root, 'moved'));
    symlinkSync(outside, join(root, 'sub'));
    expect(await whereIs(handle, path)).toBeNull();
    await handle.close();
  });
});
