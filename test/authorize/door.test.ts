/** The way to the authorizer: one file of the run time, one call, and nothing of the run time behind it. */

import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { importsOf, nodesOf, parse, pathsUnder, TREES } from '../support/sources.ts';

const sources = TREES.flatMap((tree) => pathsUnder(tree, /\.ts$/)).map(parse);
const outside = sources.filter(({ path }) => !path.startsWith('src/authorize/'));

describe('src/authorize', () => {
  it('is imported by the intake, and by the door of synchronous calls', () => {
    const importers = outside.filter((source) =>
      importsOf(source).some((target) => target.startsWith('src/authorize/')),
    );
    expect(importers.map(({ path }) => path)).toEqual(['src/run/intake.ts', 'src/sync/door.ts']);
  });

  it('is called at exactly one place for each way in', () => {
    const calls = outside.flatMap((source) =>
      [...nodesOf(source.syntax)]
        .filter((node) => ts.isCallExpression(node) && node.expression.getText() === 'authorize')
        .map(() => source.path),
    );
    expect(calls).toEqual(['src/run/intake.ts', 'src/sync/door.ts']);
  });

  it('is never handed on: both do nothing with it but call it', () => {
    const doors = ['src/run/intake.ts', 'src/sync/door.ts'].map(parse);
    const uses = doors
      .flatMap(({ syntax }) => [...nodesOf(syntax)])
      .filter(
        (node) => ts.isIdentifier(node) && node.text === 'authorize' && !ts.isPropertyAccessExpression(node.parent),
      );
    const kinds = uses.map(({ parent }) => ts.SyntaxKind[parent.kind]);
    // The import and the call of each, and the option of the same name of a synchronous runner.
    expect(kinds.sort()).toEqual([
      ...['CallExpression', 'CallExpression', 'ImportSpecifier', 'ImportSpecifier', 'PropertySignature'],
    ]);
  });

  it('knows nothing of the run time', () => {
    const folders = sources
      .filter(({ path }) => path.startsWith('src/authorize/'))
      .flatMap(importsOf)
      .filter((target) => !/^src\/(authorize|model|wire)\//.test(target));
    expect(folders).toEqual([]);
  });

  it("is the only one that calls the application's authorizer", () => {
    const readers = outside.filter(({ text }) => /\bconfig\.authorize\b|authorize: authorizer/.test(text));
    expect(readers.map(({ path }) => path)).toEqual(['src/run/request.ts', 'src/sync/runner.ts']);
  });
});
