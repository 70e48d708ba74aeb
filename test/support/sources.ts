/**
 * The tree as text and syntax, for the tests that hold the house to its rules.
 *
 * Invariant: everything is read by TypeScript's own parser, so that a word in a comment or a string is never taken for
 * code. Deliberately absent: the rules themselves, which stand in the tests at the top of `test/`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Where code that ships is written. */
export const TREES = ['machines', 'src', 'workers'] as const;

export interface Source {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly syntax: ts.SourceFile;
}

/** Every file under a directory whose name matches, in order; empty when there is no such directory. */
export function pathsUnder(directory: string, name: RegExp): string[] {
  let entries: import('node:fs').Dirent[];
  try {
    entries = readdirSync(join(ROOT, directory), { withFileTypes: true });
  } catch {
    return [];
  }
  return entries
    .filter((entry) => entry.name !== 'node_modules')
    .flatMap((entry) => {
      const path = posix.join(directory, entry.name);
      if (entry.isDirectory()) return pathsUnder(path, name);
      return name.test(entry.name) ? [path] : [];
    })
    .sort();
}

export function parse(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const kind = /\.m?js$/.test(path) ? ts.ScriptKind.JS : ts.ScriptKind.TS;
  return { path, text, syntax: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind) };
}

/** Each node of a file, parents before children. */
export function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => {
    children.push(child);
  });
  for (const child of children) yield* nodesOf(child);
}

/** What a file imports or exports from elsewhere: files by their path from the root, packages by name. */
export function importsOf({ path, syntax }: Source): string[] {
  const specifiers: string[] = [];
  for (const node of nodesOf(syntax)) {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined) {
      if (ts.isStringLiteral(node.moduleSpecifier)) specifiers.push(node.moduleSpecifier.text);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      if (ts.isStringLiteral(node.argument.literal)) specifiers.push(node.argument.literal.text);
    } else if (ts.isCallExpression(node)) {
      const [first] = node.arguments;
      const loads =
        node.expression.kind === ts.SyntaxKind.ImportKeyword ||
        /^(require|process\.getBuiltinModule)$/.test(node.expression.getText());
      if (loads && first !== undefined && ts.isStringLiteral(first)) specifiers.push(first.text);
    }
  }
  return specifiers.map((specifier) => {
    if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier);
    if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return specifier;
    return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  });
}

/** The names a file declares and exports, default exports left out. */
export function exportedNamesOf({ syntax }: Source): string[] {
  return syntax.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement) && statement.exportClause !== undefined) {
      if (ts.isNamedExports(statement.exportClause))
        return statement.exportClause.elements.map(({ name }) => name.text);
    }
    const exported = ts.canHaveModifiers(statement)
      ? ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
      : false;
    if (exported !== true) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => name.getText());
    }
    const { name } = statement as ts.DeclarationStatement;
    return name === undefined ? [] : [name.getText()];
  });
}

/** The lines of the comment a file begins with, without its marks; empty when it begins with something else. */
export function headerOf({ text }: Source): string[] {
  const comment = /^(?:#!.*\n)?(\/\*\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/.exec(text)?.[1] ?? '';
  return comment
    .split('\n')
    .map((line) =>
      line
        .replace(/^\s*(?:\/\*\*|\*\/|\*|\/\/)?\s?/, '')
        .replace(/\s*\*\/$/, '')
        .trimEnd(),
    )
    .filter((line) => line !== '');
}
