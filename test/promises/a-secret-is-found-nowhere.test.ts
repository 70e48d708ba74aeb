/**
 * Promise: a value that a tool names as secret stands in nothing the library tells, whoever listens and however it was written.
 *
 * Invariant: also no part of it of six characters, so that what a cut leaves is seen. What a program writes comes through a
 * real pipe. Deliberately absent: the binary (`cli/secrets.test.ts`) and forms nobody can foresee.
 */
import fc from 'fast-check';
import { defineTool } from 'leasehold';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fixture } from '../support/fault-adapter.ts';
import { overhear } from '../support/overheard.ts';
import { cutAt, leavesNothing, PIECES, type Pieces, piecewise } from '../support/program-run.ts';

leavesNothing();

/** As different encoders write it. None of them leaves out or shares a character with what stands around. */
const ENCODINGS: Record<string, (secret: string) => string> = {
  'as it is': (secret) => secret,
  'in JSON': (secret) => JSON.stringify(secret).slice(1, -1),
  'in a URL': (secret) => encodeURIComponent(secret),
  'in a form': (secret) => new URLSearchParams([['q', secret]]).toString().slice(2),
  'in base64': (secret) => stableOf(Buffer.from(secret), 'base64'),
  'in base64url': (secret) => stableOf(Buffer.from(secret), 'base64url'),
};
/** Without the last character, which depends on what follows. */
const stableOf = (bytes: Buffer, encoding: 'base64' | 'base64url') =>
  bytes
    .toString(encoding)
    .replace(/=+$/, '')
    .slice(0, Math.floor((bytes.length * 4) / 3));

const secrets = fc
  .string({
    unit: fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ"\\/+&=%$', 'Ä', '€', '😀'),
    minLength: 12,
    maxLength: 40,
  })
  .filter((secret) => new Set(secret).size > 6);
/** Nothing of it can be taken for a part of a secret. */
const fillers = fc.string({ unit: fc.constantFrom(...'abcxyz.,\n ', 'ü', '語'), maxLength: 30 });

interface Input {
  readonly secret: string;
  readonly pieces: Pieces;
  readonly end: string;
}

function expectUnseen(texts: readonly string[], ...forms: readonly string[]): void {
  const parts = forms.flatMap((form) =>
    Array.from(form, (_, at) => form.slice(at, at + 6)).filter(({ length }) => length === 6),
  );
  expect(texts.filter((text) => parts.some((part) => text.includes(part)))).toEqual([]);
}

describe('a secret of a program', () => {
  const given = fc.record({
    secret: secrets,
    encoding: fc.constantFrom(...Object.keys(ENCODINGS)),
    around: fc.array(fillers, { minLength: 2, maxLength: 6 }),
    cuts: fc.array(fc.nat(), { maxLength: 12 }),
    descriptor: fc.constantFrom<1 | 2>(1, 2),
    limitBytes: fc.constantFrom(0, 1, 16, 40, 64, 100, 150, 1_000_000),
    onLimit: fc.constantFrom<'truncate' | 'stop'>('truncate', 'stop'),
    end: fc.constantFrom('0', '3', 'linger'),
    bytes: fc.boolean(),
  });

  it('for any pieces, encoding, window and end is found nowhere, nor a part of it', async () => {
    const ends = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        given,
        async ({ secret, encoding, around, cuts, descriptor, limitBytes, onLimit, end, bytes }) => {
          const form = ENCODINGS[encoding]?.(secret) ?? secret;
          const written = Buffer.from(around.join(form));
          const tool = piecewise({
            secrets: (input) => [(input as Input).secret],
            args: (input) => [PIECES, (input as Input).end, (input as Input).secret],
            stdin: (input) =>
              JSON.stringify(
                (input as Input).pieces.map(([one, piece]) => [one, Buffer.from(piece).toString('base64')]),
              ),
            publicArgs: true,
            effects: 'opaque',
            onLimit,
            encoding: bytes ? 'bytes' : 'utf8',
            output: { stdoutBytes: limitBytes, stderrBytes: limitBytes, combinedBytes: limitBytes },
            runTimeoutMs: end === 'linger' ? 150 : 30_000,
            graceMs: 20,
          });
          const pieces = cutAt(written, cuts).map((piece) => [descriptor, piece] as const);
          const input: Input = { secret, pieces, end };
          const { result, texts, counts } = await overhear(tool, input);
          ends.add(`${result.status} ${result.error?.code}`);
          expect(result.exit).not.toBe(null);
          expect(Math.min(counts.log, counts.inspection)).toBeGreaterThan(0);
          expectUnseen(texts, form, secret);
          if (limitBytes > 1_000 && end === '0') expect(texts.join('')).toContain('[redacted]');
        },
      ),
      // Each run is a process: a failure is told at once, with its seed.
      { numRuns: 40, endOnFailure: true },
    );
    expect(ends.size).toBeGreaterThan(1);
  });
});

describe('a secret of a module', () => {
  it.each(['thread', 'process'] as const)('in a %s is found nowhere, whichever way it is told', async (isolation) => {
    const tool = defineTool({
      name: 'tattle',
      module: fixture('tattle.mjs'),
      input: z.object({ secret: z.string() }),
      effects: 'declared',
      isolation,
      secrets: ({ secret }) => [secret],
    });
    const secret = 'HUNTER"TWO\\&Ä€';
    const { result, texts } = await overhear(tool as never, { secret });
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_LEASEHOLD_TOOL_ERROR', message: 'not with [redacted]', cause: { message: '[redacted]' } },
      intents: [{ name: 'use [redacted]', state: 'applied' }],
      logs: [{ message: 'it is [redacted]' }],
    });
    expect(result.output.stdout.text.startsWith('so [redacted] is it')).toBe(true);
    expect(result.output.stderr.text).toBe('so [redacted] is it');
    expectUnseen(texts, ...Object.values(ENCODINGS).map((encode) => encode(secret)));
  });

  it('given to the supervisor is found nowhere in a refusal of the input either', async () => {
    const secret = 'HUNTER-OF-TWO';
    const tool = defineTool({
      name: 'refuse',
      module: fixture('echo.mjs'),
      input: z.object({ mode: z.literal('fine'), [secret]: z.string() }),
      effects: 'none',
    });
    const { result, texts } = await overhear(tool as never, { mode: secret }, {}, { redact: { values: [secret] } });
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'ERR_LEASEHOLD_INVALID_INPUT' } });
    expectUnseen(texts, secret);
  });
});
