/**
 * The public names, held to a list that was read by someone.
 *
 * Invariant: a name appears in or vanishes from a subpath only together with its line in `public-api.txt`.
 * Deliberately absent: shapes, which `test/types` and the documents hold.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { ROOT } from './support/sources.ts';

const listed = readFileSync(new URL('./public-api.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === 'string' ? [] : [{ subpath, types: fileURLToPath(new URL(`../${target.types}`, import.meta.url)) }],
);

/** `subpath name`, with `type` after names that are gone at run time. */
function publicNames(): string[] {
  const program = ts.createProgram(
    entries.map(({ types }) => types),
    { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, skipLibCheck: true, noEmit: true, types: [] },
  );
  const checker = program.getTypeChecker();
  return entries.flatMap(({ subpath, types }) => {
    const file = program.getSourceFile(types);
    const symbol = file === undefined ? undefined : checker.getSymbolAtLocation(file);
    if (symbol === undefined) return [`${subpath} is missing`];
    return checker.getExportsOfModule(symbol).map((name) => {
      const target = (name.flags & ts.SymbolFlags.Alias) === 0 ? name : checker.getAliasedSymbol(name);
      const typeOnly = (target.flags & ts.SymbolFlags.Value) === 0 || isTypeExport(name);
      return `${subpath} ${name.name}${typeOnly ? ' type' : ''}`;
    });
  });
}

function isTypeExport(symbol: ts.Symbol): boolean {
  return (
    symbol.declarations?.some((node) => ts.isExportSpecifier(node) && ts.isTypeOnlyExportDeclaration(node)) ?? false
  );
}

describe('public names', () => {
  it('are the reviewed ones', () => {
    expect(publicNames().sort()).toEqual([...listed].sort());
  });

  it('exist at run time where they are values', async () => {
    for (const { subpath } of entries) {
      const values = listed
        .filter((line) => line.startsWith(`${subpath} `) && !line.endsWith(' type'))
        .map((line) => line.split(' ')[1]);
      const loaded = (await import(`${manifest.name}${subpath.slice(1)}`)) as object;
      expect(Object.keys(loaded).sort()).toEqual(values.sort());
    }
  });

  it('are exported one by one from each entry', () => {
    const program = ts.createProgram(
      entries.map(({ types }) => types),
      { noResolve: true, types: [] },
    );
    const stars = entries.flatMap(({ types }) =>
      (program.getSourceFile(types)?.statements ?? []).filter(
        (statement) => ts.isExportDeclaration(statement) && statement.exportClause === undefined,
      ),
    );
    expect(stars.map((statement) => `${ROOT}: ${statement.getText()}`)).toEqual([]);
  });
});
