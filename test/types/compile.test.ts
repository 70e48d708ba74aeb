/**
 * Compile-time promises: the files beside this one compile against the built declarations, marks and all.
 *
 * Invariant: an unused `@ts-expect-error` is an error, so a mistake that compiles fails here. Deliberately absent: the
 * sources of the package; what is compiled against is what ships.
 */
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { parse, pathsUnder, ROOT } from '../support/sources.ts';

const files = pathsUnder('test/types', /^wrong-.*\.ts$/);

function complaints(options: ts.CompilerOptions): string[] {
  const program = ts.createProgram(
    files.map((path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))),
    {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
      types: ['node'],
      ...options,
    },
  );
  // What a library's own declarations get wrong is not ours to mend; ours are checked with the rest.
  const ours = program.getSourceFiles().filter(({ fileName }) => !fileName.includes('/node_modules/'));
  const paths = ours.map(({ fileName }) => fileName.replace(ROOT, ''));
  expect(paths.filter((path) => !/^(dist|test\/types)\//.test(path))).toEqual([]);
  expect(paths).toContain('dist/src/index.d.ts');
  const found = ours.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]);
  return [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics(), ...found].map(
    ({ file, start, messageText }) => {
      const line = file === undefined ? 0 : ts.getLineAndCharacterOfPosition(file, start ?? 0).line + 1;
      const path = file?.fileName.replace(ROOT, '') ?? '';
      return `${path}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    },
  );
}

describe('misuse', () => {
  it('is marked in each file', () => {
    const marks = files.map((path) => parse(path).text.match(/@ts-expect-error/g)?.length ?? 0);
    expect(Math.min(...marks)).toBeGreaterThan(5);
  });

  it('does not compile under node resolution', () => {
    expect(complaints({ module: ts.ModuleKind.NodeNext })).toEqual([]);
  });

  it('does not compile under bundler resolution', () => {
    const moduleResolution = ts.ModuleResolutionKind.Bundler;
    expect(complaints({ module: ts.ModuleKind.ESNext, moduleResolution })).toEqual([]);
  });
});
