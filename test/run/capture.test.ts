/** Capture: bounded in every direction, redacted, and deaf to callbacks that throw. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { ToolDefinition } from '../../src/model/tool.ts';
import { EMPTY_OUTPUT } from '../../src/output/capture-limits.ts';
import type { AttemptSetting } from '../../src/run/attempt-setting.ts';
import { Capture, silent } from '../../src/run/capture.ts';
import type { DrainedMessage, LogMessage, OutputMessage, ProgressMessage } from '../../src/wire/protocol.ts';
import { settle } from '../support/fake-clock.ts';
import { attemptParts } from './attempt-parts.ts';

const output = (text: string, over: Partial<OutputMessage> = {}): OutputMessage => {
  return {
    t: 'output',
    n: '',
    seq: 1,
    stream: 'stdout',
    bytes: Buffer.from(text),
    omittedBytes: 0,
    credit: 0,
    ...over,
  };
};
const progress = (value: number | null, note?: string): ProgressMessage => {
  return { t: 'progress', n: '', seq: 1, value, credit: 0, ...(note === undefined ? {} : { note }) };
};
const log = (message: string, over: Partial<LogMessage> = {}): LogMessage => {
  return { t: 'log', n: '', seq: 1, level: 'info', message, fields: null, dropped: 0, credit: 0, ...over };
};
const tool = (over: Pick<ToolDefinition, 'onLimit'> = {}) =>
  defineTool({ name: 'fake', module: 'file:///fake.mjs', input: z.unknown(), effects: 'none', ...over });
function opened(over: Partial<AttemptSetting> = {}) {
  const parts = attemptParts(over);
  return { ...parts, capture: new Capture(parts.setting) };
}
const broken = () => {
  throw new Error('hunter2 broke');
};

describe('Capture of output', () => {
  it('keeps each stream apart, what follows the kill apart from both', () => {
    const { capture } = opened();
    capture.take(output('out'), false);
    capture.take(output('err', { stream: 'stderr' }), false);
    capture.take(output('after'), true);
    expect(capture.output(true)).toMatchObject({
      stdout: { text: 'out', eof: true },
      stderr: { text: 'err' },
      postKill: { text: 'after' },
      combinedBytes: 6,
      drain: { ended: 'settled' },
    });
  });

  it('counts what the isolate omitted and what is over the limits', () => {
    const { capture } = opened({
      output: { stdoutBytes: 8, stderrBytes: 8, combinedBytes: 16, postKillBytes: 8, readBytes: 1e9 },
    });
    capture.take(output('0123456789'), false);
    capture.take(output('x', { omittedBytes: 100 }), false);
    const { stdout } = capture.output(true);
    expect(stdout.bytesRead).toBe(111);
    expect(stdout.bytesKept + stdout.bytesOmitted).toBe(111);
    expect(stdout.truncated).toBe(true);
  });

  it('is the shared empty output when nothing was written', () => {
    expect(opened().capture.output(true)).toBe(EMPTY_OUTPUT);
  });

  it('is without an end when more may still come', () => {
    const { capture } = opened();
    capture.take(output('out'), false);
    expect(capture.output(false)).toMatchObject({ stdout: { text: 'out', eof: false }, drain: { ended: 'cap' } });
  });

  it('tells each piece, redacted and frozen, to the callback and as an event', () => {
    const pieces: unknown[] = [];
    const { capture, events } = opened({ onOutput: (piece) => pieces.push(piece) });
    capture.take(output('by hunter2', { omittedBytes: 3 }), false);
    const piece = { stream: 'stdout', text: 'by [redacted]', omittedBytes: 3 };
    expect(pieces).toEqual([piece]);
    expect(Object.isFrozen(pieces[0])).toBe(true);
    expect(events).toEqual([{ type: 'tool.output', ...piece }]);
  });

  it('tells what was held back when it is flushed, once', () => {
    const { capture, events } = opened();
    capture.take(output('by hunt'), false);
    capture.take(output('€', { stream: 'stderr', bytes: Uint8Array.of(0xe2, 0x82) }), false);
    capture.flush();
    capture.flush();
    expect(events).toEqual([
      { type: 'tool.output', stream: 'stdout', text: 'by ', omittedBytes: 0 },
      { type: 'tool.output', stream: 'stdout', text: 'hunt', omittedBytes: 0 },
      { type: 'tool.output', stream: 'stderr', text: '\ufffd', omittedBytes: 0 },
    ]);
    expect(capture.output(true).stdout.text).toBe('by hunt');
  });

  it('hides what may have become a known value where more may still come', () => {
    const { capture, events } = opened();
    capture.take(output('by hunt'), false);
    capture.flush(false);
    expect(events.at(-1)).toMatchObject({ text: '[redacted]' });
    expect(capture.output(false).stdout.text).toBe('by [redacted]');
  });

  it('joins pieces over the kill, which only the windows of the result part', () => {
    const told: string[] = [];
    const { capture } = opened({ onOutput: ({ text }) => told.push(text) });
    capture.take(output('by hunt'), false);
    capture.take(output('er2!'), true);
    expect(told.join('')).toBe('by [redacted]!');
    expect(capture.output(true)).toMatchObject({ stdout: { text: 'by [redacted]' }, postKill: { text: 'er2!' } });
  });

  it('takes what was read after the kill of a process for late, whoever reads it', () => {
    const { capture } = opened();
    capture.take(output('live'), false);
    capture.take(output('late', { postKill: true }), false);
    expect(capture.output(true)).toMatchObject({ stdout: { text: 'live' }, postKill: { text: 'late' } });
  });

  it('says how reading ended where the isolate has told it', () => {
    const { capture } = opened();
    const drained: DrainedMessage = {
      t: 'drained',
      n: '',
      seq: 1,
      ended: 'quiet',
      ms: 250,
      holders: ['sleep hunter2 (7)', 'x'.repeat(300), ...Array<string>(20).fill('sh')],
      stdoutEof: true,
      stderrEof: false,
    };
    capture.take(output('out'), false);
    expect(capture.take(drained, false)).toBe(false);
    const { drain, stdout, stderr, postKill } = capture.output(true);
    expect(drain).toMatchObject({ ended: 'quiet', ms: 250 });
    expect(drain.holders[0]).toBe('sleep [redacted] (7)');
    expect(drain.holders).toHaveLength(16);
    expect(Buffer.byteLength(drain.holders[1] ?? '')).toBeLessThanOrEqual(128);
    expect([stdout.eof, stderr.eof, postKill.eof]).toEqual([true, false, false]);
    expect(stdout.text).toBe('out');
  });

  it('says how reading ended also where nothing was read', () => {
    const { capture } = opened();
    capture.take(
      { t: 'drained', n: '', seq: 1, ended: 'eof', ms: 3, holders: [], stdoutEof: true, stderrEof: true },
      false,
    );
    expect(capture.output(true)).toMatchObject({ stdout: { eof: true }, drain: { ended: 'eof', ms: 3 } });
  });

  it('gives bytes, and reads standard error, as the tool has it', () => {
    const { outputRules, ...terms } = tool();
    const readStderr = (text: string) => text.toUpperCase();
    const { capture } = opened({ tool: { ...terms, outputRules: { ...outputRules, encoding: 'bytes', readStderr } } });
    expect(capture.output(true).stdout.bytes).toEqual(new Uint8Array(0));
    capture.take(output('err', { stream: 'stderr' }), false);
    expect(capture.output(true).stderr).toMatchObject({ text: 'ERR', bytes: new Uint8Array(Buffer.from('err')) });
  });

  it('keeps output that nobody listens to', () => {
    const { capture } = opened({ emit: silent });
    capture.take(output('out'), false);
    expect(capture.output(true).stdout.text).toBe('out');
  });
});

describe('Capture at a limit', () => {
  const small = { stdoutBytes: 8, stderrBytes: 4, combinedBytes: 9, postKillBytes: 4, readBytes: 20 };
  const taken = (onLimit: 'truncate' | 'stop', ...messages: [OutputMessage, boolean?][]) => {
    const { capture } = opened({ output: small, tool: tool({ onLimit }) });
    return messages.map(([message, killed = false]) => capture.take(message, killed));
  };

  it('stops a run once that wrote more than is kept, where the tool wants it', () => {
    expect(taken('stop', [output('12345678')], [output('9')], [output('0')])).toEqual([false, true, false]);
    expect(taken('stop', [output('12345', { stream: 'stderr' })])).toEqual([true]);
    expect(taken('stop', [output('123456')], [output('1234', { stream: 'stderr' })])).toEqual([false, true]);
  });

  it('truncates otherwise, until more was read than may be', () => {
    expect(taken('truncate', [output('x'.repeat(20))], [output('x')], [output('x')])).toEqual([false, true, false]);
    expect(taken('truncate', [output('x', { omittedBytes: 20 })])).toEqual([true]);
  });

  it('counts nothing that came after the kill', () => {
    const flood = output('x'.repeat(100));
    expect(taken('stop', [output('1')], [flood, true], [{ ...flood, postKill: true }])).toEqual([false, false, false]);
  });

  it('is passed by output alone', () => {
    const { capture } = opened({ output: { ...small, readBytes: 0 } });
    expect([capture.take(progress(1), false), capture.take(log('line'), false)]).toEqual([false, false]);
  });
});

describe('Capture of progress and log lines', () => {
  it('tells progress with its note, redacted and bounded', () => {
    const told: unknown[] = [];
    const { capture, events } = opened({ onProgress: (step) => told.push(step) });
    capture.take(progress(0.5, 'at hunter2'), false);
    capture.take(progress(null), false);
    expect(told).toEqual([{ value: 0.5, note: 'at [redacted]' }, { value: null }]);
    expect(events.map(({ type }) => type)).toEqual(['tool.progress', 'tool.progress']);
  });

  it('keeps a line with its fields, redacted by value and by key', () => {
    const { capture, clock } = opened();
    clock.jump(7);
    capture.take(log('hunter2 came', { fields: '{"page":3,"password":"x"}', level: 'warn' }), false);
    expect(capture.logs).toEqual([
      { level: 'warn', message: '[redacted] came', fields: { page: 3, password: '[redacted]' }, atMs: 7 },
    ]);
  });

  it('hides a torn value wherever the isolate may have cut', () => {
    const notes: unknown[] = [];
    const { capture } = opened({ onProgress: ({ note }) => notes.push(note) });
    capture.take(log('a line hunt', { fields: '{"deep":["text hunter"],"long hunte":1}' }), false);
    capture.take(progress(1, 'at hunte'), false);
    expect(capture.logs[0]).toMatchObject({
      message: 'a line [redacted]',
      fields: { deep: ['text [redacted]'], 'long [redacted]': 1 },
    });
    expect(notes).toEqual(['at [redacted]']);
  });

  it.each(['', 'nonsense', 'null', '7'])('leaves out fields that are no object: %j', (fields) => {
    const { capture } = opened();
    capture.take(log('line', { fields }), false);
    expect(capture.logs).toEqual([{ level: 'info', message: 'line', atMs: 0 }]);
  });

  it('keeps 200 lines of 2 KiB, and counts the rest with those the isolate dropped', () => {
    const { capture } = opened();
    for (let line = 0; line < 205; line += 1) capture.take(log('x'.repeat(5_000), { dropped: 1 }), false);
    expect(capture.logs).toHaveLength(200);
    expect(Math.max(...capture.logs.map(({ message }) => Buffer.byteLength(message)))).toBeLessThanOrEqual(2_048);
    expect(capture.dropped).toEqual({ diagnostics: 0, logLines: 210, lateEvents: 0 });
  });
});

describe('Capture of diagnostics', () => {
  it('keeps 64, bounded and redacted, and counts the rest', () => {
    const { capture } = opened();
    for (let note = 0; note < 70; note += 1) capture.note('PROBE', `hunter2 ${'x'.repeat(5_000)}`);
    expect(capture.diagnostics).toHaveLength(64);
    expect(capture.diagnostics[0]?.message).toMatch(/^\[redacted\] x/);
    expect(capture.dropped.diagnostics).toBe(6);
  });

  it.each(['onProgress', 'onOutput'] as const)('tells once of an %s that throws, and calls it no more', (name) => {
    let calls = 0;
    const { capture, events } = opened({
      [name]: () => {
        calls += 1;
        broken();
      },
    });
    for (let time = 0; time < 3; time += 1)
      capture.take(name === 'onProgress' ? progress(time / 3) : output('x'), false);
    expect(calls).toBe(1);
    expect(capture.diagnostics).toMatchObject([
      { code: 'CALLBACK_THREW', message: `${name} threw and hears no more: [redacted] broke` },
    ]);
    expect(events).toHaveLength(3);
  });

  it('tells of an onOutput whose promise rejects, and calls it no more', async () => {
    let calls = 0;
    const onOutput = async () => {
      calls += 1;
      broken();
    };
    const { capture } = opened({ onOutput: onOutput as unknown as () => void });
    capture.take(output('x'), false);
    await settle();
    capture.take(output('y'), false);
    expect(calls).toBe(1);
    expect(capture.diagnostics).toMatchObject([{ code: 'CALLBACK_THREW' }]);
  });

  it('is empty and shared when there is nothing to tell', () => {
    const { capture } = opened();
    expect([capture.logs, capture.diagnostics]).toEqual([[], []]);
    expect(Object.isFrozen(capture.logs) && Object.isFrozen(capture.diagnostics)).toBe(true);
  });
});
