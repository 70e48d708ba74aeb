/** Output, progress and log lines: whose they are, and what a host that does not read still gets. */
import { describe, expect, it } from 'vitest';
import { CREDIT_BYTES, WORD } from '../../src/wire/protocol.ts';
import { openFar, textOf } from './far-host.ts';

describe('output', () => {
  it('of console and direct writes arrives whole, before the record, under its lease', async () => {
    const far = await openFar();
    const { seq } = await far.run('output', 'say');
    expect(textOf(far, 'stdout')).toBe('to stdout\n\u0000\u00ffA');
    expect(textOf(far, 'stderr')).toBe('to stderr');
    expect(far.of('output').map((record) => record.seq)).toEqual([seq, seq, seq, seq]);
    const kinds = far.records.map(({ t }) => t);
    expect(kinds.lastIndexOf('output')).toBeLessThan(kinds.indexOf('settled'));
  });

  it('written before a hang is there while the tool hangs', async () => {
    const far = await openFar();
    far.start('output', 'sayThenHang');
    await far.until('output');
    expect(textOf(far, 'stdout')).toBe('before the hang\n');
  });

  it('written after the end is attributed to no lease', async () => {
    const far = await openFar();
    await far.run('output', 'late');
    expect(await far.until('output')).toMatchObject({ seq: 0 });
  });

  it('is bounded while nobody reads: the window, then a tail, and the gap is counted', async () => {
    const tailBytes = 10_000;
    const far = await openFar({ tailBytes });
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const written = 4_000 * 1_000;
    const seq = far.start('output', 'flood', { lines: 4_000, width: 1_000, gate });
    // The host is blocked until the tool has written everything.
    Atomics.wait(gate, 0, 0);
    const unread = Atomics.load(far.words, WORD.CREDIT);
    expect(unread).toBeGreaterThan(CREDIT_BYTES / 2);
    expect(unread).toBeLessThanOrEqual(CREDIT_BYTES + tailBytes + 64);
    await far.settled(seq);
    const outputs = far.of('output');
    const kept = outputs.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    const omitted = outputs.reduce((sum, { omittedBytes }) => sum + omittedBytes, 0);
    expect(kept + omitted).toBe(written);
    expect(kept).toBeLessThanOrEqual(CREDIT_BYTES + tailBytes);
    expect(outputs.at(-1)).toMatchObject({ omittedBytes: omitted });
    expect(outputs.at(-1)?.bytes.byteLength).toBe(tailBytes);
    expect(textOf(far, 'stdout').endsWith('.3999\n')).toBe(true);
    expect(Atomics.load(far.words, WORD.CREDIT)).toBe(0);
  });

  it('kept as a tail is sent when the window opens, though the tool still waits', async () => {
    const far = await openFar({ tailBytes: 2 * CREDIT_BYTES });
    const bytes = CREDIT_BYTES + 1_000;
    const seq = far.start('output', 'floodThenWait', { bytes });
    while (textOf(far, 'stdout').length < bytes) await far.changed();
    expect(far.of('settled')).toEqual([]);
    expect(far.of('output').every(({ omittedBytes }) => omittedBytes === 0)).toBe(true);
    far.stop(seq, 'cancel');
    await far.settled(seq);
  });
});

describe('progress', () => {
  it('is thinned, clamped, and its last value always sent', async () => {
    const far = await openFar();
    await far.run('output', 'report');
    const told = far.of('progress');
    expect(told.length).toBeLessThan(20);
    expect(told[0]).toMatchObject({ value: 0, note: 'step 0' });
    expect(told.at(-1)).toMatchObject({ value: 1, note: 'last' });
  });
});

describe('logger', () => {
  it('reduces whatever it is given to bounded plain lines', async () => {
    const far = await openFar();
    expect((await far.run('output', 'log')).ok).toBe(true);
    const [plain, odd, big] = far.of('log');
    expect(plain).toMatchObject({ level: 'info', message: 'plain', dropped: 0 });
    expect(JSON.parse(plain?.fields ?? '')).toEqual({ a: 1, when: '1970-01-01T00:00:00.000Z', secret: '1' });
    expect(odd).toMatchObject({ level: 'error', message: 'null' });
    expect(big?.message).toHaveLength(2_048);
    expect(big?.fields).toBe('{"truncated":true}');
  });

  it('drops lines while nobody reads, counts them, and keeps the last', async () => {
    const far = await openFar();
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const seq = far.start('output', 'logFlood', { lines: 1_000, gate });
    Atomics.wait(gate, 0, 0);
    await far.settled(seq);
    const lines = far.of('log');
    expect(lines.reduce((sum, { dropped }) => sum + dropped + 1, 0)).toBe(1_000);
    expect(lines.at(-1)?.message).toMatch(/^line 999 /);
    expect(lines.length).toBeLessThan(200);
  });
});
