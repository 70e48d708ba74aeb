/** The bodies of `prepared` and `closed`: whole where they fit, a stored blob or a told loss where they do not, never a secret. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import type { BlobStore } from '../../src/model/stores.ts';
import { createRedactor } from '../../src/output/redaction.ts';
import { closedBody, type Keeping, type PreparedSubject, preparedBody } from '../../src/record/entry-bodies.ts';
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

const tool = defineTool({ name: 'pay', module: 'file:///fake/tool.mjs', input: z.unknown(), effects: 'declared' });
const SUCCEEDED = { status: 'succeeded', cause: null, also: [], code: null } as const;

function keeping(over: Partial<Keeping> = {}) {
  const [clock, blobs] = [new FakeClock(), memoryBlobStore()];
  const redactor = createRedactor({ values: ['hunter2'] });
  return { tenant: 'acme', redactor, blobs: blobs as BlobStore | null, withinMs: 500, ...over, clock };
}
const subject = (input: unknown, over: Partial<PreparedSubject> = {}): PreparedSubject => ({
  ...{ tool, input, labels: {}, idempotencyKey: null, hasSecrets: false },
  ...over,
});

describe('preparedBody', () => {
  it('holds only tool and effects where the log does not survive', () => {
    expect(preparedBody(subject({ order: 1 }), null)).toEqual({ tool: 'pay', effects: 'declared' });
  });

  it('holds a small input at once', () => {
    const given = subject({ order: 1 }, { idempotencyKey: 'seed', labels: { team: 'x' } });
    expect(preparedBody(given, keeping())).toEqual({
      ...{ tool: 'pay', effects: 'declared', hadSecrets: false, isExact: true, checksOutput: false },
      ...{ idempotencyKey: 'seed', labels: { team: 'x' }, input: { order: 1 } },
    });
  });

  it.each<[string, PreparedSubject, object]>([
    [
      'a known value',
      subject({ text: 'pw hunter2' }),
      { hadSecrets: true, isExact: false, input: { text: 'pw [redacted]' } },
    ],
    ['a hidden name', subject({ token: 'abc' }), { hadSecrets: true, isExact: false, input: { token: '[redacted]' } }],
    ['secrets of the tool', subject({ order: 1 }, { hasSecrets: true }), { hadSecrets: true, isExact: true }],
    ['a secret key', subject(1, { idempotencyKey: 'k-hunter2' }), { hadSecrets: true, idempotencyKey: 'k-[redacted]' }],
    ['bytes', subject({ page: new Uint8Array(3) }), { hadSecrets: false, isExact: false }],
    ['a big integer', subject(1n), { hadSecrets: false, isExact: false }],
  ])('tells what kept the input from being told whole: %s', (_, given, body) => {
    expect(preparedBody(given, keeping())).toMatchObject(body);
  });

  it('tells undefined by leaving it out', () => {
    const body = preparedBody(subject(undefined), keeping());
    expect(body).toMatchObject({ isExact: true });
    expect(body).not.toHaveProperty('input');
  });

  it('names a large input by a blob that is stored by then, redacted', async () => {
    const parts = keeping();
    const body = await preparedBody(subject({ text: `hunter2 ${'x'.repeat(3_000)}` }), parts);
    const { blob } = body['input'] as { blob: string };
    const kept = Buffer.from((await parts.blobs?.get('acme', blob)) ?? []).toString();
    expect(JSON.parse(kept)).toEqual({ text: `[redacted] ${'x'.repeat(3_000)}` });
  });

  it('lets no input pass for the name of a blob', async () => {
    const parts = keeping();
    const body = await preparedBody(subject({ blob: 'sha256:0' }), parts);
    const { blob } = body['input'] as { blob: string };
    expect(Buffer.from((await parts.blobs?.get('acme', blob)) ?? []).toString()).toBe('{"blob":"sha256:0"}');
  });

  it.each<[string, BlobStore | null]>([
    ['no store', null],
    ['a full store', memoryBlobStore({ maxBytes: 10 })],
  ])('tells that a large input was left out: %s', async (_, blobs) => {
    const body = await preparedBody(subject('x'.repeat(3_000)), keeping({ blobs }));
    expect(body).toMatchObject({ inputOmitted: 3_002 });
    expect(body).not.toHaveProperty('input');
  });

  it('waits for a store no longer than its bound', async () => {
    const blobs: BlobStore = { put: () => new Promise(() => undefined), get: () => Promise.reject(new Error('no')) };
    const parts = keeping({ blobs });
    let body: object | null = null;
    void Promise.resolve(preparedBody(subject('x'.repeat(3_000)), parts)).then((made) => {
      body = made;
    });
    await parts.clock.advance(499);
    expect(body).toBe(null);
    await parts.clock.advance(1);
    expect(body).toMatchObject({ inputOmitted: 3_002 });
  });

  it('for any subject stays within an entry, without a secret', async () => {
    const text = fc.oneof(fc.string({ maxLength: 256 }), fc.constant('\u0000'.repeat(256)), fc.constant('hunter2'));
    const labels = fc.dictionary(fc.string({ minLength: 1, maxLength: 32 }), text, { maxKeys: 16 });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.jsonValue(), fc.string({ minLength: 1_900, maxLength: 2_100 })),
        labels,
        fc.option(text.filter((seed) => seed !== '')),
        async (input, tags, idempotencyKey) => {
          const body = await preparedBody(subject(input, { labels: tags, idempotencyKey }), keeping());
          const json = JSON.stringify(body);
          expect(Buffer.byteLength(json)).toBeLessThanOrEqual(4_096);
          expect(json).not.toContain('hunter2');
        },
      ),
    );
  });
});

describe('closedBody', () => {
  it('holds the value of a success, redacted', () => {
    const body = closedBody(SUCCEEDED, { text: 'hunter2', n: 1 }, keeping());
    expect(body).toEqual({
      ...{ status: 'succeeded', cause: null, code: null, isExact: false },
      value: { text: '[redacted]', n: 1 },
    });
  });

  it('holds none where there is none, or where the log does not survive', () => {
    const failed = { status: 'failed', cause: null, also: [], code: 'TOOL_ERROR' } as const;
    expect(closedBody(failed, 'x', keeping())).toEqual({ status: 'failed', cause: null, code: 'TOOL_ERROR' });
    expect(closedBody(SUCCEEDED, 'x', null)).toEqual({ status: 'succeeded', cause: null, code: null });
  });

  it('names a large value by a stored blob', async () => {
    const body = closedBody(SUCCEEDED, 'x'.repeat(3_000), keeping());
    expect(body).toBeInstanceOf(Promise);
    await settle();
    expect(await body).toMatchObject({ status: 'succeeded', value: { blob: expect.stringMatching(/^sha256:/) } });
  });
});
