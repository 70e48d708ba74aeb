/** Which blobs an entry of the log names. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogEvent } from '../../src/model/stores.ts';
import { blobsNamedBy, blobsNamedIn } from '../../src/record/blob-names.ts';

const [first, second] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`];

function logged(kind: LogEvent['kind'], body: LogEvent['body'], tenant = 'acme'): LogEvent {
  const names = { tenant, run: 'r', branch: 'main', requestId: 'req-1', attempt: 1 };
  return { ...names, seq: 1, ord: 0, epoch: 1, intent: '', kind, atWall: 1_000, body };
}

describe('blobsNamedBy', () => {
  it('finds a large input and a large value', () => {
    expect(blobsNamedBy(logged('prepared', { tool: 'pay', input: { blob: first } }))).toEqual([first]);
    expect(blobsNamedBy(logged('closed', { status: 'succeeded', value: { blob: second } }))).toEqual([second]);
  });

  it('finds what a tool took in or returned by digest, each once', () => {
    const body = { input: [{ page: first }, second], also: { deep: [[first]] } };
    expect(blobsNamedBy(logged('prepared', body))).toEqual([first, second]);
  });

  it('takes no part of a text for a digest', () => {
    const body = { input: [`see ${first}`, `${first}.`, first.toUpperCase(), { [first]: 1 }, null, 7] };
    expect(blobsNamedBy(logged('prepared', body))).toEqual([]);
  });

  it('for any body finds a digest that is put anywhere into it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(fc.constantFrom('list', 'field'), { maxLength: 8 }), (rest, path) => {
        const nest = path.reduce<unknown>((x, way) => (way === 'list' ? [rest, x] : { rest, x }), first);
        expect(blobsNamedBy(logged('closed', { value: nest }))).toEqual([first]);
      }),
    );
  });
});

describe('blobsNamedIn', () => {
  it('tells each with its tenant', async () => {
    const events = [
      logged('prepared', { input: { blob: first } }),
      logged('closed', { value: { blob: first } }, 'other'),
    ];
    const named = [];
    const log = async function* () {
      yield* events;
    };
    for await (const blob of blobsNamedIn(log())) named.push(blob);
    expect(named).toEqual([
      { tenant: 'acme', digest: first },
      { tenant: 'other', digest: first },
    ]);
  });
});
