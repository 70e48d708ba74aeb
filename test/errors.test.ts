/**
 * The codes: one table, the same in the documents and in the code.
 *
 * Invariant: compared both ways. Deliberately absent: codes of what is not built yet from the second comparison; they
 * are listed here until something throws them.
 */
import { ERROR_CODES } from 'leasehold';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { nodesOf, parse, pathsUnder, TREES } from './support/sources.ts';

const PREFIX = 'ERR_LEASEHOLD_';
const table = Object.keys(ERROR_CODES).sort();

const literals = TREES.flatMap((tree) => pathsUnder(tree, /\.ts$/))
  .filter((path) => path !== 'src/model/errors.ts')
  .map(parse)
  .flatMap(({ path, syntax }) =>
    [...nodesOf(syntax)].filter(ts.isStringLiteralLike).map(({ text }) => ({ path, text })),
  );

describe('error codes', () => {
  it('each stands in the README, and no other does', () => {
    const { text } = parse('README.md');
    const told = new Set([...text.matchAll(/\bERR_LEASEHOLD_([A-Z_]+[A-Z])\b/g)].map(([, code]) => code));
    expect([...told].sort()).toEqual(table);
  });

  it('each is used by the code', () => {
    const used = new Set(literals.map(({ text }) => text.replace(PREFIX, '')));
    const idle = table.filter((code) => !used.has(code));
    expect(idle).toEqual([]);
  });

  it('none is used that the table lacks', () => {
    const foreign = literals.filter(({ text }) => text.startsWith(PREFIX) && !table.includes(text.replace(PREFIX, '')));
    expect(foreign.filter(({ text }) => text !== PREFIX)).toEqual([]);
  });

  it('each says whether a retry is safe and what it means', () => {
    for (const entry of Object.values(ERROR_CODES)) {
      expect(entry).toMatchObject({ retrySafe: expect.any(Boolean), meaning: expect.stringMatching(/\w/) });
    }
  });
});
