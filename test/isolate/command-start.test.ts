/**
 * CommandTenure on programs that cannot start, or that start with odd inputs and environments.
 *
 * Invariant: nothing ran where a start failed, and the failure says why in one form whatever Node said. Deliberately
 * absent: how commands end (`command.test.ts`).
 */
import { chmodSync, createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { childEnv } from '../../src/process/marker.ts';
import { command, leavesNoProcess, shell } from '../support/process-rig.ts';

leavesNoProcess();
const folder = mkdtempSync(join(tmpdir(), 'leasehold-start-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string, mode: number): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
const plain = file('plain', 'echo never', 0o644);
const script = file('script', 'echo from a script', 0o755);
const orphaned = file('orphaned', '#!/no/such/interpreter\n', 0o755);

describe('a command that cannot start', () => {
  it.each([
    ['a missing program', { file: 'no-such-program' }, 'not-found', 'ENOENT'],
    ['a missing interpreter', { file: orphaned }, 'not-found', 'ENOENT'],
    ['a file that may not be executed', { file: plain }, 'not-permitted', 'EACCES'],
    ['a folder as program', { file: folder }, 'not-permitted', 'EACCES'],
    ['a missing cwd', { cwd: join(folder, 'missing') }, 'bad-cwd', 'ENOENT'],
    ['a file as cwd', { cwd: plain }, 'bad-cwd', 'ENOTDIR'],
    ['too much', { args: ['x'.repeat(3_000_000)] }, 'too-large', 'E2BIG'],
    ['a NUL byte in an argument', { args: ['secret\0'] }, 'nul-byte', null],
    ['a NUL byte in the name', { file: 'secret\0' }, 'nul-byte', null],
    ['a NUL byte in cwd', { cwd: 'secret\0' }, 'nul-byte', null],
    ['a NUL byte in the environment', { env: { inherit: [], set: { A: 'secret\0' } } }, 'nul-byte', null],
    ['no name', { file: '' }, 'refused', 'ERR_INVALID_ARG_VALUE'],
  ])('fails with %s', async (_name, more, reason, errno) => {
    const ran = command().run(shell('echo never', more));
    const settled = await ran.first('settled');
    expect(settled).toMatchObject({ ok: false, clean: true, recalled: true });
    expect(settled.exit).toBe(undefined);
    expect(settled.failure).toMatchObject({ code: 'SPAWN_FAILED', ofStop: false, fields: { reason, errno } });
    expect(JSON.stringify(settled)).not.toMatch(/never|xxx/);
    expect(ran.records.map(({ t }) => t)).toEqual(['settled']);
    expect(await ran.terminated()).toEqual({ code: null, signal: null, error: null });
  });

  it('says what is at fault, by the name of the program and of the option', async () => {
    const ran = command().run(shell('', { cwd: join(folder, 'missing') }));
    const { failure } = await ran.first('settled');
    expect(failure?.message).toBe('"sh" could not be started: cwd is not a directory that can be entered (ENOENT).');
    await ran.terminated();
  });

  it('is not signalled, whatever it is told', async () => {
    const ran = command().run(shell('', { file: 'no-such-program' }));
    ran.stop();
    ran.tenure.terminate();
    expect(await ran.terminated()).toEqual({ code: null, signal: null, error: null });
    expect((await ran.first('settled')).failure?.code).toBe('SPAWN_FAILED');
  });

  it('destroys the stream that was to feed it', async () => {
    const stdin = Readable.from(['never read']);
    const ran = command().run(shell('', { file: 'no-such-program', stdin }));
    await ran.first('settled');
    expect(stdin.destroyed).toBe(true);
    await ran.terminated();
  });
});

describe('a command', () => {
  it('that is a text without an interpreter is run by the platform as it likes', async () => {
    const ran = command().run(shell('', { file: script, args: [] }));
    const { settled } = await ran.end();
    // libc gives it to the shell, or refuses: both end in one answer.
    expect(settled.ok ? ran.text() : settled.failure?.code).toMatch(/^(from a script\n|EXIT_CODE)$/);
    await ran.terminated();
  });

  it('gets nothing of the environment but what the plan names, and the marker', async () => {
    const env = { inherit: ['PATH', 'NO_SUCH_VARIABLE'], set: { SET: 'by the plan' } };
    const ran = command().run(shell('', { file: 'env', args: [], env }));
    await ran.end();
    const names = ran
      .text()
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names.sort()).toEqual(['LEASEHOLD_RUN', 'PATH', 'SET']);
    expect(ran.text()).toMatch(new RegExp(`^LEASEHOLD_RUN=${process.pid}\\.\\d+\\.[0-9a-f]{32}$`, 'm'));
    await ran.terminated();
  });

  it('is looked up by the PATH of its own environment', async () => {
    const env = { inherit: [], set: { PATH: folder } };
    const missing = command().run(shell('', { file: 'sh', env }));
    expect((await missing.first('settled')).failure?.code).toBe('SPAWN_FAILED');
    await missing.terminated();
    file('found', '#!/bin/sh\necho found', 0o755);
    const ran = command().run(shell('', { file: 'found', args: [], env }));
    await ran.end();
    expect(ran.text()).toBe('found\n');
    await ran.terminated();
  });

  it('runs where the plan says', async () => {
    const ran = command().run(shell('pwd', { cwd: folder }));
    await ran.end();
    expect(ran.text()).toContain('leasehold-start-');
    await ran.terminated();
  });
});

function* brokenAfter(bytes: number): Generator<Buffer> {
  yield Buffer.alloc(bytes);
  throw new RangeError('broke');
}
function failed(error: Error): Readable {
  return new Readable().on('error', () => undefined).destroy(error);
}

describe('standard input', () => {
  it('ends at once where there is none', async () => {
    const ran = command().run(shell('cat; echo end'));
    await ran.end();
    expect(ran.text()).toBe('end\n');
    await ran.terminated();
  });

  it.each([
    ['a text', 'déjà vu'],
    ['bytes', Buffer.from('déjà vu')],
    ['a stream', Readable.from([Buffer.from('déjà '), Buffer.from('vu')])],
  ])('that is %s is handed over whole', async (_name, stdin) => {
    const ran = command().run(shell('cat', { stdin }));
    await ran.end();
    expect(ran.text()).toBe('déjà vu');
    await ran.terminated();
  });

  it.each([
    ['bytes', Buffer.alloc(4_000_000)],
    ['a stream', Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(40_000)))],
  ])('that nobody reads is dropped: %s', async (_name, stdin) => {
    const ran = command().run(shell('exec 0<&-; exit 0', { stdin }));
    expect((await ran.end()).settled.ok).toBe(true);
    expect(await ran.terminated()).toEqual({ code: 0, signal: null, error: null });
  });

  it.each<[string, () => unknown, object]>([
    ['that is not there', () => createReadStream(join(folder, 'missing')), { fields: { code: 'ENOENT' } }],
    ['that throws midway', () => Readable.from(brokenAfter(1_000)), { name: 'RangeError', message: 'broke' }],
    ['that was destroyed before', () => Readable.from(['never']).destroy(), { name: 'Error' }],
    ['that had failed before', () => failed(new RangeError('broke')), { name: 'RangeError', message: 'broke' }],
    ['of objects', () => Readable.from([{ a: 1 }]), { name: 'TypeError' }],
    ['of numbers after bytes', () => Readable.from([Buffer.from('one'), 2]), { name: 'TypeError' }],
    ['that is none', () => ({ pipe: () => undefined, on: () => undefined }), { name: 'TypeError' }],
    ['that only claims to be bytes', () => Object.create(Uint8Array.prototype), {}],
  ])('from a source %s fails the run by it, and never shows its end', async (_name, source, failure) => {
    const ran = command().run(shell('cat; echo end', { stdin: source() as Readable }), 10_000);
    const { settled, looked } = await ran.end();
    expect(settled.failure).toMatchObject({ code: 'TOOL_ERROR', ofStop: false, ...failure });
    expect([settled.exit, ran.text(), looked.findings]).toEqual([
      { code: null, signal: 'SIGTERM' },
      expect.not.stringContaining('end'),
      [],
    ]);
    await ran.terminated();
  });

  it('from a source that broke ends a program that ignores it after the grace', async () => {
    const stdin = new Readable({ read: () => undefined });
    const ran = command().run(shell("trap '' TERM; echo ready; cat; echo end", { stdin }), 20);
    await ran.untilText('ready');
    stdin.destroy(new RangeError('broke'));
    const { settled } = await ran.end();
    expect(settled).toMatchObject({ exit: { signal: 'SIGKILL' }, failure: { name: 'RangeError' } });
    expect(ran.text()).toBe('ready\n');
    await ran.terminated();
  });

  it('is closed at a stop, and the stream with it', async () => {
    const stdin = new Readable({ read: () => undefined });
    const ran = command().run(shell("trap '' TERM; echo ready; cat; echo closed", { stdin }), 10_000);
    await ran.untilText('ready');
    ran.stop();
    await ran.end();
    expect([ran.text(), stdin.destroyed]).toEqual(['ready\nclosed\n', true]);
    await ran.terminated();
  });
});

describe('childEnv', () => {
  it('prefers what is set to what is inherited', () => {
    const host = { A: 'host', B: 'host', C: undefined };
    expect(childEnv({ inherit: ['A', 'B', 'C'], set: { A: 'plan' } }, host)).toEqual({ A: 'plan', B: 'host' });
  });
});
