/**
 * What the built package shows: no ambient context, no leaking combinators, and nothing that starts outside a scope.
 *
 * Invariant: read from what ships, so that no lint comment can hide anything. Deliberately absent: rules that only make
 * sense for sources (`architecture.test.ts`).
 */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { importsOf, nodesOf, parse, pathsUnder } from './support/sources.ts';

const built = pathsUnder('dist', /\.js$/).map(parse);
const host = built.filter(({ path }) => !path.startsWith('dist/workers/'));

/** What may change in a module after load, and empty containers that never do. Each was looked at: none is a current run. */
const REVIEWED: readonly string[] = [
  'dist/src/model/ids.js: counters',
  // Reads of /proc that are under way, by pid.
  'dist/src/process/proc.js: reading',
  'dist/src/scope/trace.js: used',
  'dist/src/sync/index.js: shared',
];

function uses(rule: (node: ts.Node, path: string) => boolean, from = built): string[] {
  return from.flatMap(({ path, syntax }) =>
    [...nodesOf(syntax)].filter((node) => rule(node, path)).map((node) => `${path}: ${node.getText().slice(0, 60)}`),
  );
}

/** `object.property`, however written. */
function reads(node: ts.Node, object: string, properties: readonly string[]): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    return node.expression.getText() === object && properties.includes(node.name.text);
  }
  if (ts.isElementAccessExpression(node)) {
    const key = node.argumentExpression;
    return node.expression.getText() === object && ts.isStringLiteralLike(key) && properties.includes(key.text);
  }
  if (ts.isVariableDeclaration(node) && ts.isObjectBindingPattern(node.name)) {
    const names = node.name.elements.map((element) => (element.propertyName ?? element.name).getText());
    return node.initializer?.getText() === object && names.some((name) => properties.includes(name));
  }
  return false;
}

describe('the built package', () => {
  it('holds every tree', () => {
    const trees = new Set(built.map(({ path }) => path.split('/')[1]));
    expect([...trees].sort()).toEqual(['machines', 'src', 'workers']);
  });

  it('has no ambient context', () => {
    const imported = built.filter((source) => importsOf(source).some((target) => /async_hooks$/.test(target)));
    expect(imported.map(({ path }) => path)).toEqual([]);
    expect(uses((node) => ts.isIdentifier(node) && /^Async(LocalStorage|Resource)$/.test(node.text))).toEqual([]);
  });

  it('combines no signals and races no promises', () => {
    expect(uses((node) => reads(node, 'AbortSignal', ['any', 'timeout']))).toEqual([]);
    expect(uses((node) => reads(node, 'Promise', ['race']))).toEqual([]);
  });

  it('keeps no changing variable in a module of the host', () => {
    const changing = host.flatMap(({ path, syntax }) =>
      syntax.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => {
        const fixed = (declarationList.flags & ts.NodeFlags.Const) !== 0;
        return declarationList.declarations
          .filter(
            ({ initializer }) => !fixed || /^(new (Weak)?(Map|Set)\(\)|\[\]|\{\})$/.test(initializer?.getText() ?? ''),
          )
          .map(({ name }) => `${path}: ${name.getText()}`);
      }),
    );
    expect(changing.filter((place) => !REVIEWED.includes(place))).toEqual([]);
  });

  it('reads time at one place', () => {
    const timed = uses(
      (node, path) =>
        path !== 'dist/src/model/time.js' &&
        ((ts.isCallExpression(node) &&
          /^(globalThis\.)?(setTimeout|setInterval|setImmediate)$/.test(node.expression.getText())) ||
          reads(node, 'Date', ['now']) ||
          reads(node, 'performance', ['now'])),
      host,
    );
    expect(timed).toEqual([]);
  });

  it('loads no module that runs something at load', () => {
    const awaits = built.filter(({ syntax }) =>
      syntax.statements.some(
        (statement) => ts.isExpressionStatement(statement) && ts.isAwaitExpression(statement.expression),
      ),
    );
    expect(awaits.map(({ path }) => path).filter((path) => path !== 'dist/src/cli/main.js')).toEqual([]);
  });

  it('starts requests for scopes only, and all else at one place each', () => {
    const makes = (name: string) => (node: ts.Node) => ts.isNewExpression(node) && node.expression.getText() === name;
    const calls = (name: RegExp) => (node: ts.Node) =>
      ts.isCallExpression(node) && name.test(node.expression.getText());
    const posts = (node: ts.Node) => ts.isPropertyAssignment(node) && /^t: ['"]run['"]$/.test(node.getText());
    const where = (rule: (node: ts.Node) => boolean) => [...new Set(uses(rule).map((place) => place.split(':')[0]))];

    expect({
      asksForRequest: where(calls(/\.submit$/)),
      makesRequest: where(makes('Request')),
      makesScope: where(makes('RunScope')),
      makesAttempt: where(makes('Attempt')),
      startsRun: where(posts),
      makesActor: where(calls(/^createActor$/)),
    }).toEqual({
      asksForRequest: ['dist/src/scope/run-scope.js', 'dist/src/supervisor.js'],
      makesRequest: ['dist/src/run/request-desk.js'],
      makesScope: ['dist/src/scope/run-scope.js', 'dist/src/supervisor.js'],
      makesAttempt: ['dist/src/run/request.js'],
      startsRun: ['dist/src/run/run-message.js'],
      makesActor: ['dist/src/isolate/actor-tree.js'],
    });
  });
});
