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
    const output = record.finish({ ended: 'quiet', ms: 7, holders: ['sh'] }, false);
    expect(output).toMatchObject({
      stdout: { text: 'out', eof: false },
      stderr: { text: 'err' },
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
