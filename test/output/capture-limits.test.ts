/** The four limits of one request's output, together. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_OUTPUT, OutputRecord } from '../../src/output/capture-limits.ts';
import { createRedactor } from '../../src/output/redaction.ts';

const limits = { stdoutBytes: 8, stderrBytes: 4, combinedBytes: 9, postKillBytes: 4 };
const bytesOf = (s: string): Uint8Array => new TextEncoder().encode(s);

describe('OutputRecord', () => {
  it('is the shared empty output when nothing was written', () => {
    expect(new OutputRecord(limits).finish()).toBe(EMPTY_OUTPUT);
  });

  it('keeps the streams apart', () => {
    const record = new OutputRecord(limits);
    record.write('stdout', bytesOf('out'));
    record.write('stderr', bytesOf('err'));
    const output = record.finish({ ended: 'quiet', ms: 7, holders: ['sh'] }, { stdout: false, stderr: true });
    expect(output).toMatchObject({
      stdout: { text: 'out', eof: false },
      stderr: { text: 'err', eof: true },
      combinedBytes: 6,
      postKill: { text: '', eof: false },
      drain: { ended: 'quiet', ms: 7, holders: ['sh'] },
    });
  });

  it('lets a stream use what the other leaves, and no more', () => {
    const alone = new OutputRecord(limits);
    alone.write('stdout', bytesOf('12345678'));
    expect(alone.finish().stdout.text).toBe('12345678');
    const both = new OutputRecord(limits);
    both.write('stdout', bytesOf('12345678'));
    both.write('stderr', bytesOf('abcd'));
    expect(both.finish()).toMatchObject({ stdout: { bytesKept: 6 }, stderr: { bytesKept: 3 }, combinedBytes: 9 });
  });

  it('what comes after a kill evicts nothing', () => {
    const record = new OutputRecord(limits);
    record.write('stdout', bytesOf('before'));
    record.killed();
    record.write('stdout', bytesOf('flood after the kill'));
    expect(record.finish()).toMatchObject({
      stdout: { text: 'before', truncated: false },
      postKill: { bytesRead: 20, bytesKept: 4 },
    });
  });

  it('keeps the two streams apart after the kill too, and shares their window', () => {
    const record = new OutputRecord(limits);
    record.killed();
    for (const [out, err] of ['ab', 'cd', 'ef']) {
      record.write('stdout', bytesOf(out ?? ''));
      record.write('stderr', bytesOf(err ?? ''));
    }
    expect(record.finish().postKill).toMatchObject({
      text: '… 1 bytes omitted …\nce… 1 bytes omitted …\ndf',
      bytesRead: 6,
      bytesKept: 4,
      bytesOmitted: 2,
      headBytes: 0,
      truncated: true,
    });
  });

  it('hides what the kill left of a value at both sides of it', () => {
    const wide = { stdoutBytes: 90, stderrBytes: 90, combinedBytes: 180, postKillBytes: 90 };
    const record = new OutputRecord(wide, createRedactor({ values: ['HUNTER2222'] }));
    record.write('stdout', bytesOf('key HUNTER'));
    record.write('stderr', bytesOf('of HUNTER'));
    record.killed();
    record.write('stderr', bytesOf('R2222x'));
    record.write('stdout', bytesOf('2222 end'));
    expect(record.finish()).toMatchObject({
      stdout: { text: 'key [redacted]' },
      stderr: { text: 'of [redacted]' },
      postKill: { text: '[redacted] end[redacted]x', redactions: 2 },
    });
  });

  it('hides the beginning of a value where a stream was not read to its end', () => {
    const record = new OutputRecord({ ...limits, combinedBytes: 12 }, createRedactor({ values: ['HUNTER2222'] }));
    record.write('stdout', bytesOf('HUNTER'));
    record.write('stderr', bytesOf('HUNT'));
    const { stdout, stderr } = record.finish(undefined, { stdout: false, stderr: true });
    expect([stdout.text, stderr.text]).toEqual(['[redacted]', 'HUNT']);
  });

  it('hides the beginning of a value where whoever wrote was cut off', () => {
    const record = new OutputRecord({ ...limits, combinedBytes: 12 }, createRedactor({ values: ['HUNTER2222'] }));
    record.write('stdout', bytesOf('HUNTER'));
    record.write('stderr', bytesOf('HUNT'));
    const texts = (torn: boolean) => {
      const { stdout, stderr } = record.finish(undefined, undefined, torn);
      return [stdout.text, stderr.text, stdout.eof];
    };
    expect(texts(false)).toEqual(['HUNTER', 'HUNT', true]);
    expect(texts(true)).toEqual(['[redacted]', '[redacted]', true]);
  });

  it('tells when more was written than it may keep', () => {
    const over = (...writes: ['stdout' | 'stderr', number][]) => {
      const record = new OutputRecord(limits);
      for (const [stream, bytes] of writes) record.write(stream, new Uint8Array(bytes));
      const { isOver } = record;
      record.killed();
      record.write('stdout', new Uint8Array(100));
      expect([record.isOver, record.liveBytes]).toEqual([isOver, record.bytesRead - 100]);
      return isOver;
    };
    expect([over(['stdout', 8]), over(['stderr', 4]), over(['stdout', 5], ['stderr', 4])]).toEqual([
      false,
      false,
      false,
    ]);
    expect([over(['stdout', 9]), over(['stderr', 5]), over(['stdout', 6], ['stderr', 4])]).toEqual([true, true, true]);
  });

  it('counts what was dropped on the way', () => {
    const record = new OutputRecord(limits);
    record.write('stdout', bytesOf('a'));
    record.write('stdout', bytesOf('b'), 100);
    expect(record.bytesRead).toBe(102);
    expect(record.finish().stdout).toMatchObject({
      bytesRead: 102,
      bytesOmitted: 100,
      text: 'a\n… 100 bytes omitted …\nb',
    });
  });

  it('is deeply frozen', () => {
    const record = new OutputRecord(limits);
    record.write('stderr', bytesOf('x'));
    const output = record.finish();
    const parts = [output, output.stdout, output.stderr, output.postKill, output.drain, output.drain.holders];
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
    expect(Object.isFrozen(EMPTY_OUTPUT.drain.holders)).toBe(true);
  });

  it('passes everything through the redactor', () => {
    const record = new OutputRecord(
      { ...limits, stdoutBytes: 90, combinedBytes: 99 },
      createRedactor({ values: ['HUNTER2222'] }),
    );
    record.write('stdout', bytesOf('key HUNTER2222'));
    expect(record.finish().stdout).toMatchObject({ text: 'key [redacted]', redactions: 1, bytesKept: 14 });
  });

  it('gives copies of the bytes where the tool asks for them, redacted', () => {
    const rules = { encoding: 'bytes', readStderr: null } as const;
    const record = new OutputRecord(limits, createRedactor({ values: ['key'] }), rules);
    const written = Uint8Array.of(0xff, 0x6b, 0x65, 0x79, 0xfe);
    record.write('stdout', written);
    const { stdout, stderr, postKill } = record.finish();
    expect(stdout.bytes).toEqual(new Uint8Array(Buffer.from('\xff[redacted]\xfe', 'latin1')));
    expect(stdout.text).toBe('\ufffd[redacted]\ufffd');
    expect([stderr.bytes, postKill.bytes]).toEqual([new Uint8Array(0), new Uint8Array(0)]);
    record.write('stdout', bytesOf('1234567'));
    const { bytes, headBytes } = record.finish().stdout;
    expect([bytes, headBytes]).toEqual([new Uint8Array(Buffer.from('\xff[redacted]234567', 'latin1')), 2]);
    stdout.bytes?.fill(0);
    expect([record.finish().stdout.bytes?.[0], written[0]]).toEqual([0xff, 0xff]);
    expect(new OutputRecord(limits, undefined, rules).finish().stdout.bytes).toEqual(new Uint8Array(0));
  });

  it('lets the tool read its standard error, and hides what that brings to light', () => {
    const redactor = createRedactor({ values: ['HUNTER2222'] });
    const readBy = (readStderr: (text: string) => string, text = 'x') => {
      const record = new OutputRecord({ ...limits, stderrBytes: 40, combinedBytes: 40 }, redactor, {
        encoding: 'utf8',
        readStderr,
      });
      record.write('stderr', bytesOf(text));
      record.write('stdout', bytesOf('y'));
      const { stderr, stdout } = record.finish();
      expect(stdout.text).toBe('y');
      expect(Object.isFrozen(stderr)).toBe(true);
      return [stderr.text, stderr.redactions];
    };
    expect(readBy((text) => text.replaceAll('_', ''), 'by HUNTER_2222')).toEqual(['by [redacted]', 1]);
    expect(readBy((text) => `${text}!`, 'HUNTER2222')).toEqual(['[redacted]!', 1]);
    expect(readBy(() => 'z'.repeat(41))).toEqual(['x', 0]);
    expect(readBy(() => 7 as unknown as string)).toEqual(['x', 0]);
    const broken = () => {
      throw new Error('no');
    };
    expect(readBy(broken)).toEqual(['x', 0]);
  });

  it('lets no tool read its standard error across a gap', () => {
    const wide = { ...limits, stderrBytes: 16, combinedBytes: 24 };
    const texts: string[] = [];
    const readStderr = (text: string) => {
      texts.push(text);
      return 'read';
    };
    const record = new OutputRecord(wide, undefined, { encoding: 'utf8', readStderr });
    record.write('stderr', bytesOf('a'.repeat(40)));
    expect(record.finish().stderr).toMatchObject({ truncated: true, text: expect.stringContaining('bytes omitted') });
    expect(texts).toEqual([]);
  });

  it('for any writes stays within every limit', () => {
    const write = fc.record({ stream: fc.constantFrom('stdout', 'stderr'), bytes: fc.uint8Array({ maxLength: 12 }) });
    fc.assert(
      fc.property(fc.array(write, { maxLength: 8 }), fc.nat(12), fc.nat(8), (writes, combinedBytes, killAt) => {
        const record = new OutputRecord({ ...limits, combinedBytes });
        for (const [i, { stream, bytes }] of writes.entries()) {
          if (i === killAt) record.killed();
          record.write(stream, bytes);
        }
        const { stdout, stderr, postKill, combinedBytes: kept } = record.finish();
        expect(stdout.bytesKept).toBeLessThanOrEqual(limits.stdoutBytes);
        expect(stderr.bytesKept).toBeLessThanOrEqual(limits.stderrBytes);
        expect(postKill.bytesKept).toBeLessThanOrEqual(limits.postKillBytes);
        expect(kept).toBeLessThanOrEqual(combinedBytes);
        expect(stdout.bytesRead + stderr.bytesRead + postKill.bytesRead).toBe(record.bytesRead);
      }),
    );
  });
});
