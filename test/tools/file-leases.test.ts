/**
 * File tools under leases: what a result says of a read, a write and a list, and of one that was stopped.
 *
 * Invariant: real files and a fake clock, so that no bound passes by itself. Deliberately absent: what the tools refuse.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../src/model/stores.ts';
import { memoryEventLog } from '../../src/record/memory-event-log.ts';
import { listFilesTool } from '../../src/tools/list-files.ts';
import { readFileTool } from '../../src/tools/read-file.ts';
import { writeFileTool } from '../../src/tools/write-file.ts';
import { closeFake, openFakeHost } from '../support/fake-host.ts';
import { fullDisk } from '../support/tmpfs-disk.ts';
import { makeFifo, scratch } from './scratch.ts';

const CONTENT = new Uint8Array(4 * 1_048_576);

/** A log that calls back on the turn of the loop after an intent was recorded. */
function watchedLog(onDispatched: () => void): EventLog {
  const log = memoryEventLog();
  return {
    durability: log.durability,
    read: (filter) => log.read(filter),
    openIntents: () => log.openIntents(),
    append(event) {
      if (event.kind === 'dispatched') setImmediate(onDispatched);
      return log.append(event);
    },
  };
}

describe('file tools, leased', () => {
  it('write, read and list, each on an isolate of its own that is gone afterwards', async () => {
    const root = scratch();
    const host = await openFakeHost();
    const { supervisor } = host;
    const written = await supervisor.runTool(writeFileTool({ name: 'write', root }), { path: 'a', content: 'new' });
    expect(written).toMatchObject({
      status: 'succeeded',
      value: { bytesWritten: 3, committed: true },
      intents: [{ name: 'write a', state: 'applied' }],
      lease: { end: 'completed', isolate: { kind: 'inline' } },
    });
    const read = await supervisor.runTool(readFileTool({ name: 'read', root }), { path: 'a' });
    expect(read).toMatchObject({ status: 'succeeded', intents: [] });
    expect(Buffer.from(read.value?.bytes ?? []).toString()).toBe('new');
    const listed = await supervisor.runTool(listFilesTool({ name: 'list', root }), { path: '.' });
    expect(listed.value).toEqual({ entries: [{ path: 'a', kind: 'file', size: 3 }], truncated: false });
    await closeFake(host);
  });

  it('fail with the code of the system and no path of the machine', async () => {
    const root = scratch();
    makeFifo(join(root, 'fifo'));
    const host = await openFakeHost();
    const tool = readFileTool({ name: 'read', root });
    const results = [];
    for (const path of ['fifo', 'gone', '../up'] as const) results.push(await host.supervisor.runTool(tool, { path }));
    expect(results.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed']);
    expect(results.map(({ error }) => [error?.code, error?.name, error?.fields])).toEqual([
      ['ERR_LEASEHOLD_TOOL_ERROR', 'FileError', { code: 'NOT_A_FILE' }],
      ['ERR_LEASEHOLD_TOOL_ERROR', 'FileError', { code: 'ENOENT' }],
      ['ERR_LEASEHOLD_TOOL_ERROR', 'FileError', { code: 'INVALID_PATH' }],
    ]);
    expect(results.map(({ error }) => error?.message).join()).not.toContain(root);
    await closeFake(host);
  });

  it('reject an input that is no path', async () => {
    const host = await openFakeHost();
    const result = await host.supervisor.runTool(readFileTool({ name: 'read', root: scratch() }), { path: '' });
    expect(result).toMatchObject({ status: 'rejected', lease: null });
    await closeFake(host);
  });

  it('cancelled in the middle of a write, are cancelled and not applied', async () => {
    const root = scratch();
    writeFileSync(join(root, 'file'), 'old');
    const caller = new AbortController();
    const host = await openFakeHost({}, { eventLog: watchedLog(() => caller.abort(new Error('enough'))) });
    const tool = writeFileTool({ name: 'write', root });
    const result = await host.supervisor.runTool(tool, { path: 'file', content: CONTENT }, { signal: caller.signal });
    expect(result).toMatchObject({
      status: 'cancelled',
      cause: { kind: 'cancel' },
      intents: [{ name: 'write file', state: 'not-applied' }],
      lease: { end: 'completed' },
    });
    expect([readFileSync(join(root, 'file'), 'utf8'), readdirSync(root)]).toEqual(['old', ['file']]);
    await closeFake(host);
  });

  it('on a full disk, fail and are not applied', async () => {
    const { path: root, code } = fullDisk();
    const host = await openFakeHost();
    const tool = writeFileTool({ name: 'write', root });
    const result = await host.supervisor.runTool(tool, { path: 'file', content: CONTENT });
    expect(result).toMatchObject({
      status: 'failed',
      error: { name: 'NotAppliedError', fields: { code } },
      intents: [{ state: 'not-applied' }],
    });
    expect(readdirSync(root)).toEqual([]);
    await closeFake(host);
  });

  it('of many at once, all write whole files', async () => {
    const root = scratch();
    mkdirSync(join(root, 'sub'));
    const host = await openFakeHost();
    const tool = writeFileTool({ name: 'write', root });
    const paths = Array.from({ length: 12 }, (_, at) => `sub/${at}`);
    const results = await Promise.all(paths.map((path) => host.supervisor.runTool(tool, { path, content: path })));
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['succeeded']));
    expect(readdirSync(join(root, 'sub'))).toHaveLength(12);
    for (const path of paths) expect(readFileSync(join(root, path), 'utf8')).toBe(path);
    await closeFake(host);
  });
});
