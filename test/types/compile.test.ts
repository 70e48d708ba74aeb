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
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
      types: ['node'],
      ...options,
    },
  );
  const read = program.getSourceFiles().map(({ fileName }) => fileName.replace(ROOT, ''));
  expect(read.filter((path) => /^(src|machines|workers)\//.test(path))).toEqual([]);
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file === undefined ? 0 : ts.getLineAndCharacterOfPosition(file, start ?? 0).line + 1;
    const path = file?.fileName.replace(ROOT, '') ?? '';
    return `${path}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

describe('misuse', () => {
  it('is marked in each file', () => {
    const marks = files.map((path) => parse(path).text.match(/@ts-expect-error/g)?.length ?? 0);
    expect(Math.min(...marks)).toBeGreaterThan(5);
  });

  it('does not compile under node resolution', () => {
    expect(complaints({ module: ts.ModuleKind.NodeNext })).toEqual([]);
  });

  it('does not compile under bundler resolution, declarations checked too', () => {
    const moduleResolution = ts.ModuleResolutionKind.Bundler;
    const all = complaints({ module: ts.ModuleKind.ESNext, moduleResolution, skipLibCheck: false });
    expect(all.filter((line) => !line.startsWith('node_modules/'))).toEqual([]);
  });
});
