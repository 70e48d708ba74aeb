/**
 * `readFileTool` on real files, FIFOs, sockets and devices.
 *
 * Invariant: a test that could block for ever does not, because nothing is opened that waits. Deliberately absent: paths
 * that lead outside (`rooted-path.test.ts`), and leases (`file-leases.test.ts`).
 */
import { appendFileSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFileTool } from '../../src/tools/read-file.ts';
import { inlineRig, serveInline } from '../support/inline-context.ts';
import { asStranger, failureOf, makeFifo, scratch } from './scratch.ts';

async function read(root: string, path: string, maxBytes = 1_000_000, rig = inlineRig()) {
  const tool = readFileTool({ name: 'read', root, maxBytes });
  const value = await serveInline(tool, { path }, rig.context);
  return tool.output?.parse(value) as { bytes: Uint8Array; size: number; truncated: boolean };
}

describe('readFileTool', () => {
  it('reads bytes as they are, and has no effects', async () => {
    const root = scratch();
    writeFileSync(join(root, 'file'), Uint8Array.of(0, 255, 10));
    expect(await read(root, 'file')).toEqual({ bytes: Uint8Array.of(0, 255, 10), size: 3, truncated: false });
    expect(readFileTool({ name: 'read', root })).toMatchObject({ effects: 'none', isolation: 'inline' });
  });

  it('reads an empty file, and one through a link inside', async () => {
    const root = scratch();
    writeFileSync(join(root, 'empty'), '');
    symlinkSync('empty', join(root, 'link'));
    expect(await read(root, 'link')).toEqual({ bytes: new Uint8Array(), size: 0, truncated: false });
  });

  it('for any size and limit, gives the beginning and says whether there was more', async () => {
    const root = scratch();
    const step = 65_536;
    const size = fc.oneof(fc.constantFrom(0, 1, step - 1, step, step + 1, 2 * step), fc.nat(3 * step));
    await fc.assert(
      fc.asyncProperty(size, size, async (length, maxBytes) => {
        const content = Uint8Array.from({ length }, (_, at) => at % 251);
        writeFileSync(join(root, 'file'), content);
        const value = await read(root, 'file', maxBytes);
        expect(value.size).toBe(length);
        expect(value.truncated).toBe(length > maxBytes);
        expect(Buffer.compare(value.bytes, content.subarray(0, maxBytes))).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it('reads what the system makes as it is read, which tells no size', async () => {
    const { bytes, size, truncated } = await read('/proc', 'self/status');
    expect({ size, truncated }).toEqual({ size: 0, truncated: false });
    expect(Buffer.from(bytes).toString()).toContain(`Pid:\t${process.pid}`);
  });

  it('holds no more than the limit of a file that is huge', async () => {
    const root = scratch();
    writeFileSync(join(root, 'sparse'), 'begin');
    truncateSync(join(root, 'sparse'), 2 ** 40);
    const { bytes, size, truncated } = await read(root, 'sparse', 70_000);
    expect({ kept: bytes.buffer.byteLength, size, truncated }).toEqual({
      kept: 70_000,
      size: 2 ** 40,
      truncated: true,
    });
  });

  it('reads a file that grows while it is read up to the limit', async () => {
    const root = scratch();
    const file = join(root, 'log');
    writeFileSync(file, 'x'.repeat(100));
    const rig = inlineRig({ onLook: (look) => look > 1 && appendFileSync(file, 'y'.repeat(100)) });
    const { bytes, truncated } = await read(root, 'log', 1_000, rig);
    expect({ length: bytes.length, truncated }).toEqual({ length: 1_000, truncated: true });
  });

  it('refuses a directory, a FIFO and a socket in words, before it opens them', async () => {
    const root = scratch();
    mkdirSync(join(root, 'directory'));
    makeFifo(join(root, 'fifo'));
    const server = createServer();
    await new Promise<void>((listening) => server.listen(join(root, 'socket'), listening));
    const failures = await Promise.all(['directory', 'fifo', 'socket', '.'].map((path) => failureOf(read(root, path))));
    await new Promise((closed) => server.close(closed));
    expect(failures.map(({ message }) => message)).toEqual([
      '"directory" is a directory, not a regular file.',
      '"fifo" is a FIFO, not a regular file.',
      '"socket" is a socket, not a regular file.',
      '"." is a directory, not a regular file.',
    ]);
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['NOT_A_FILE']));
  });

  it('refuses endless devices', async () => {
    for (const path of ['zero', 'null', 'urandom', 'tty']) {
      expect(await failureOf(read('/dev', path))).toMatchObject({
        code: 'NOT_A_FILE',
        message: `"${path}" is a device, not a regular file.`,
      });
    }
  });

  it('tells a missing file and a forbidden one by the code of the system', async () => {
    const root = scratch();
    writeFileSync(join(root, 'private'), 'x', { mode: 0 });
    expect(await failureOf(read(root, 'missing'))).toMatchObject({ name: 'FileError', code: 'ENOENT' });
    const failure = await asStranger(() => failureOf(read(root, 'private')));
    expect(failure).toMatchObject({ name: 'FileError', code: 'EACCES' });
    expect(failure.message).not.toContain(root);
  });

  it('stopped before it began or at any step, throws the reason itself', async () => {
    const root = scratch();
    writeFileSync(join(root, 'file'), new Uint8Array(3 * 65_536));
    for (const look of [1, 2, 3, 4]) {
      const rig = inlineRig();
      rig.stopAtLook(look);
      await expect(read(root, 'file', 1_000_000, rig)).rejects.toBe(rig.reason);
    }
  });

  it('refuses an input it does not know and an option it does not know', () => {
    const tool = readFileTool({ name: 'read', root: '/srv' });
    expect(tool.input.safeParse({ path: 'a', depth: 2 }).success).toBe(false);
    expect(tool.input.safeParse({ path: '' }).success).toBe(false);
    expect(() => readFileTool({ name: 'read', root: '/srv', maxBytes: -1 })).toThrow(/"maxBytes"/);
    expect(() => readFileTool({ name: 'read', root: '/srv', ...{ maxEntries: 1 } })).toThrow(/Unknown option/);
    expect(() => readFileTool({ name: 'read', root: '/srv', ...{ input: tool.input } })).toThrow(/Unknown option/);
    expect(() => readFileTool({ name: 'No', root: '/srv' })).toThrow(/"name"/);
  });
});
