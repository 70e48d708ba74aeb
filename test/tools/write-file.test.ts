/**
 * `writeFileTool`: the old file is whole until the new one is, whatever ends the write.
 *
 * Invariant: every look at the signal is one place to stop at, and all of them are tried. Deliberately absent: leases and
 * results (`file-leases.test.ts`).
 */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type WriteFileValue, writeFileTool } from '../../src/tools/write-file.ts';
import { inlineRig, serveInline } from '../support/inline-context.ts';
import { fullDisk, limitedFiles, readOnlyPlace } from '../support/tmpfs-disk.ts';
import { asStranger, failureOf, makeFifo, scratch, siblingsIn } from './scratch.ts';

const STEP = 65_536;

async function write(root: string, path: string, content: string | Uint8Array, rig = inlineRig(), maxBytes?: number) {
  const tool = writeFileTool({ name: 'write', root, ...(maxBytes !== undefined && { maxBytes }) });
  return tool.output?.parse(await serveInline(tool, { path, content }, rig.context)) as WriteFileValue;
}

/** A root with one file, whose content is `old`. */
function rooted(): { root: string; file: string } {
  const root = scratch();
  const file = join(root, 'file');
  writeFileSync(file, 'old');
  return { root, file };
}

describe('writeFileTool', () => {
  it('replaces a file and makes a new one, each with one intent that is applied', async () => {
    const { root, file } = rooted();
    mkdirSync(join(root, 'sub'));
    for (const path of ['file', 'sub/new']) {
      const rig = inlineRig();
      expect(await write(root, path, 'grüße', rig)).toEqual({ bytesWritten: 7, committed: true });
      expect(rig.intents).toEqual([{ name: `write ${path}`, state: 'applied' }]);
      expect(readFileSync(join(root, path), 'utf8')).toBe('grüße');
    }
    expect(readdirSync(root).sort()).toEqual(['file', 'sub']);
    expect(statSync(file).isFile()).toBe(true);
  });

  it('declares its effects, and runs on the loop of the host', () => {
    const tool = writeFileTool({ name: 'write', root: '/srv', graceMs: 5 });
    expect(tool).toMatchObject({ effects: 'declared', isolation: 'inline', graceMs: 5, runTimeoutMs: null });
    expect(tool.work).toMatchObject({ kind: 'inline', occupiesPool: true });
  });

  it('for any bytes, writes them all', async () => {
    const { root, file } = rooted();
    const size = fc.oneof(fc.constantFrom(0, 1, STEP - 1, STEP, STEP + 1), fc.nat(3 * STEP));
    await fc.assert(
      fc.asyncProperty(size, fc.integer({ min: 1, max: 251 }), async (length, period) => {
        const content = Uint8Array.from({ length }, (_, at) => at % period);
        expect(await write(root, 'file', content)).toEqual({ bytesWritten: length, committed: true });
        expect(Buffer.compare(readFileSync(file), content)).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it('keeps the permissions of the old file, but not what ran as another user', async () => {
    const { root, file } = rooted();
    chmodSync(file, 0o4767);
    await write(root, 'file', 'new');
    expect(statSync(file).mode & 0o7777).toBe(0o767);
  });

  it('gives a new file what the mask of the process leaves', async () => {
    const { root } = rooted();
    writeFileSync(join(root, 'by node'), '');
    await write(root, 'new', 'new');
    expect(statSync(join(root, 'new')).mode).toBe(statSync(join(root, 'by node')).mode);
  });

  it('writes through a link inside, and leaves the link', async () => {
    const { root, file } = rooted();
    symlinkSync('file', join(root, 'link'));
    await write(root, 'link', 'new');
    expect({ link: readlinkSync(join(root, 'link')), content: readFileSync(file, 'utf8') }).toEqual({
      link: 'file',
      content: 'new',
    });
  });

  it('refuses a link that leads nowhere', async () => {
    const { root } = rooted();
    symlinkSync('missing', join(root, 'dangling'));
    const failure = await failureOf(write(root, 'dangling', 'new'));
    expect(failure.message).toBe('"dangling" is a symbolic link, not a regular file.');
    expect(readdirSync(root).sort()).toEqual(['dangling', 'file']);
  });

  it('refuses a directory, a FIFO, a socket and a device, and dispatches nothing', async () => {
    const { root } = rooted();
    mkdirSync(join(root, 'directory'));
    makeFifo(join(root, 'fifo'));
    const server = createServer();
    await new Promise<void>((listening) => server.listen(join(root, 'socket'), listening));
    const rig = inlineRig();
    for (const path of ['.', 'directory', 'fifo', 'socket']) {
      expect(await failureOf(write(root, path, 'new', rig))).toMatchObject({ name: 'FileError', code: 'NOT_A_FILE' });
    }
    await new Promise((closed) => server.close(closed));
    expect(await failureOf(write('/dev', 'null', 'new', rig))).toMatchObject({ code: 'NOT_A_FILE' });
    expect(rig.intents).toEqual([]);
    expect(siblingsIn(root)).toEqual([]);
  });

  it('refuses what passes maxBytes before anything is written, counted in bytes', async () => {
    const { root, file } = rooted();
    const rig = inlineRig();
    const failure = await failureOf(write(root, 'file', 'üü', rig, 3));
    expect(failure).toMatchObject({ code: 'TOO_LARGE', message: '"file" takes at most 3 bytes; given were 4.' });
    expect({ intents: rig.intents, content: readFileSync(file, 'utf8') }).toEqual({ intents: [], content: 'old' });
  });

  it('makes no directories, and writes in none that is forbidden', async () => {
    const { root } = rooted();
    const rig = inlineRig();
    expect(await failureOf(write(root, 'missing/new', 'new', rig))).toMatchObject({ code: 'ENOENT' });
    chmodSync(root, 0o555);
    const failure = await asStranger(() => failureOf(write(root, 'new', 'new', rig)));
    chmodSync(root, 0o755);
    expect(failure).toMatchObject({ name: 'NotAppliedError', code: 'EACCES' });
    expect(rig.intents).toEqual([{ name: 'write new', state: 'not-applied' }]);
    expect(readdirSync(root)).toEqual(['file']);
  });

  it('shortens a long path in the name of its intent to its end', async () => {
    const { root } = rooted();
    const path = `${'a'.repeat(200)}/${'b'.repeat(200)}`;
    mkdirSync(join(root, 'a'.repeat(200)));
    const rig = inlineRig();
    await write(root, path, 'new', rig);
    const [name] = rig.intents.map((intent) => intent.name);
    expect(name).toHaveLength(256);
    expect(name).toMatch(/^write …a+\/b{200}$/);
  });
});

describe('writeFileTool, stopped', () => {
  const content = new Uint8Array(3 * STEP);

  it('at any look before the rename, leaves the old file whole and nothing else', async () => {
    const { root, file } = rooted();
    const ends: string[] = [];
    for (let look = 1; ends.at(-1) !== 'committed'; look += 1) {
      const rig = inlineRig();
      rig.stopAtLook(look);
      const failure = await write(root, 'file', content, rig).then(
        () => null,
        (error: unknown) => error,
      );
      const [intent] = rig.intents;
      if (failure === null) {
        expect(intent?.state).toBe('applied');
        ends.push('committed');
        continue;
      }
      expect([look, readFileSync(file, 'utf8'), readdirSync(root)]).toEqual([look, 'old', ['file']]);
      expect([undefined, 'not-applied']).toContain(intent?.state);
      if (intent === undefined) expect(failure).toBe(rig.reason);
      else expect(failure).toMatchObject({ name: 'NotAppliedError', cause: rig.reason });
      ends.push(intent?.state ?? 'not begun');
    }
    // Before the place is looked for; before the sibling; before each step; before the sync; before the rename.
    expect(ends).toEqual(['not begun', ...Array(6).fill('not-applied'), 'committed']);
    expect(readFileSync(file)).toHaveLength(content.length);
  });

  it('between the record of its intent and the grant, makes no sibling', async () => {
    const { root, file } = rooted();
    const rig = inlineRig({ onDispatch: () => rig.stop() });
    await expect(write(root, 'file', content, rig)).rejects.toBe(rig.reason);
    expect(rig.intents).toEqual([{ name: 'write file', state: 'not-applied' }]);
    expect([readFileSync(file, 'utf8'), readdirSync(root)]).toEqual(['old', ['file']]);
  });
});

describe('writeFileTool, on a disk that takes no more', () => {
  it.each([
    ['a full disk', fullDisk],
    ['a limit of the process', () => limitedFiles()],
  ])('tells %s as not applied, with the old file whole', async (_name, disk) => {
    const { path: root, code } = disk();
    writeFileSync(join(root, 'file'), 'old');
    const rig = inlineRig();
    const failure = await failureOf(write(root, 'file', new Uint8Array(3 * STEP), rig));
    expect(failure).toMatchObject({ name: 'NotAppliedError', code });
    expect(failure.message).toMatch(new RegExp(`^"file" was not written: .*\\(${code}\\)\\.$`));
    expect(failure.message).not.toContain(root);
    expect(rig.intents).toEqual([{ name: 'write file', state: 'not-applied' }]);
    expect([readFileSync(join(root, 'file'), 'utf8'), readdirSync(root)]).toEqual(['old', ['file']]);
    expect(await write(root, 'file', 'fits', inlineRig())).toEqual({ bytesWritten: 4, committed: true });
  });

  it('refuses a place that can only be read', async () => {
    const { root, file, codes } = readOnlyPlace('old');
    const before = readFileSync(join(root, file), 'utf8');
    const failure = await failureOf(write(root, file, 'new'));
    expect(codes).toContain(failure.code);
    expect(readFileSync(join(root, file), 'utf8')).toBe(before);
  });
});

describe('writeFileTool, beside others', () => {
  it('leaves of two writers at once the whole content of one', async () => {
    const { root, file } = rooted();
    const contents = [new Uint8Array(5 * STEP).fill(1), new Uint8Array(4 * STEP).fill(2)];
    const values = await Promise.all(contents.map((content) => write(root, 'file', content)));
    expect(values.map((value) => value.committed)).toEqual([true, true]);
    const left = readFileSync(file);
    expect(contents.some((content) => Buffer.compare(left, content) === 0)).toBe(true);
    expect(readdirSync(root)).toEqual(['file']);
  });

  it('stays in the directory it found when a link is put in its place', async () => {
    const parent = scratch();
    const [root, outside] = [join(parent, 'root'), join(parent, 'outside')];
    for (const path of [root, outside, join(root, 'sub')]) mkdirSync(path);
    const onDispatch = (): void => {
      renameSync(join(root, 'sub'), join(root, 'moved'));
      symlinkSync(outside, join(root, 'sub'));
    };
    await write(root, 'sub/file', 'new', inlineRig({ onDispatch }));
    expect(readdirSync(outside)).toEqual([]);
    expect(readFileSync(join(root, 'moved/file'), 'utf8')).toBe('new');
  });

  it('replaces a link that is put in the place of the file, and not what it leads to', async () => {
    const { root, file } = rooted();
    writeFileSync(join(root, 'other'), 'other');
    const onDispatch = (): void => {
      unlinkSync(file);
      symlinkSync('other', file);
    };
    await write(root, 'file', 'new', inlineRig({ onDispatch }));
    expect(lstatSync(file).isFile()).toBe(true);
    expect([readFileSync(file, 'utf8'), readFileSync(join(root, 'other'), 'utf8')]).toEqual(['new', 'other']);
  });

  it('is not applied when a directory is put in the place of the file', async () => {
    const { root, file } = rooted();
    const onDispatch = (): void => {
      unlinkSync(file);
      mkdirSync(file);
    };
    const rig = inlineRig({ onDispatch });
    expect(await failureOf(write(root, 'file', 'new', rig))).toMatchObject({ name: 'NotAppliedError', code: 'EISDIR' });
    expect([rig.intents[0]?.state, readdirSync(root)]).toEqual(['not-applied', ['file']]);
  });

  it('does not claim to know the end of a rename whose sibling is gone', async () => {
    const { root } = rooted();
    const onLook = (): void => {
      for (const name of siblingsIn(root)) renameSync(join(root, name), join(root, 'taken'));
    };
    const rig = inlineRig({ onLook });
    const failure = await failureOf(write(root, 'file', 'new', rig));
    expect(failure).toMatchObject({ name: 'FileError', code: 'ENOENT' });
    expect(failure.message).toMatch(/^"file" may or may not have been replaced/);
    expect(rig.intents[0]?.state).toBe('failed');
  });
});
