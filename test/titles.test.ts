/**
 * The rules for tests: what their titles claim, and what they may not do.
 *
 * Invariant: read from the syntax, so a title in a table or a template is held to the same words. Deliberately absent:
 * judgement of what a test proves.
 */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { nodesOf, parse, pathsUnder } from './support/sources.ts';

const files = pathsUnder('test', /\.ts$/)
  .filter((path) => !path.startsWith('test/fixtures/'))
  .map(parse);

interface Call {
  readonly path: string;
  readonly callee: string;
  readonly title: string;
  /** False when the title is made at run time. */
  readonly whole: boolean;
  readonly text: string;
}

/** `it`, `test` and `describe`, also as `it.each(…)(…)`, `it.for(…)(…)` and `it.prop(…)(…)`. */
const CALLEE = /^(it|test|describe)\b/;

const calls: Call[] = files
  .filter(({ path }) => path.endsWith('.test.ts'))
  .flatMap(({ path, syntax }) =>
    [...nodesOf(syntax)].filter(ts.isCallExpression).flatMap((node): Call[] => {
      const callee = node.expression.getText();
      const [first] = node.arguments;
      if (!CALLEE.test(callee) || first === undefined) return [];
      const text = node.getText();
      if (ts.isStringLiteralLike(first)) return [{ path, callee, title: first.text, whole: true, text }];
      if (!ts.isTemplateExpression(first)) return [];
      return [{ path, callee, title: first.getText().slice(1, -1), whole: false, text }];
    }),
  );
const claims = calls.filter(({ callee }) => !callee.startsWith('describe'));

function titled(list: readonly Call[]): string[] {
  return list.map(({ path, title }) => `${path}: ${title}`);
}

/** Code in the tests that answers to a rule, by file. */
function places(rule: (node: ts.Node) => boolean): string[] {
  return files.flatMap(({ path, syntax }) =>
    [...nodesOf(syntax)].filter(rule).map((node) => `${path}: ${node.getText().slice(0, 60)}`),
  );
}

describe('titles', () => {
  it('claim instead of hoping', () => {
    expect(claims.length).toBeGreaterThan(0);
    expect(titled(calls.filter(({ title }) => /\b(should|works|correctly|handles)\b/i.test(title)))).toEqual([]);
  });

  it('stay within 80 characters', () => {
    expect(titled(calls.filter(({ title }) => title.length > 80))).toEqual([]);
  });

  it('are unique in their file', () => {
    const seen = new Set<string>();
    const twice = claims.filter(({ path, title, whole }) => {
      const key = `${path}\n${title}`;
      const known = whole && seen.has(key);
      seen.add(key);
      return known;
    });
    expect(titled(twice)).toEqual([]);
  });

  it('of properties begin with "for any"', () => {
    const properties = claims.filter(({ callee, text }) => callee.includes('.prop') || /\bfc\s*\.assert\(/.test(text));
    expect(titled(properties.filter(({ title }) => !/^for any\b/i.test(title)))).toEqual([]);
  });
});

describe('tests', () => {
  it('are all run, once', () => {
    const idle = places(
      (node) =>
        ts.isPropertyAccessExpression(node) &&
        CALLEE.test(node.expression.getText()) &&
        /^(skip|only|todo|fails|skipIf|runIf|retry)$/.test(node.name.text),
    );
    expect(idle).toEqual([]);
  });

  it('never sleep', () => {
    const timed = places((node) => {
      if (ts.isImportSpecifier(node)) {
        const from = node.parent.parent.parent.moduleSpecifier.getText();
        return (
          /node:timers/.test(from) && /^(setTimeout|setInterval|scheduler)$/.test((node.propertyName ?? node.name).text)
        );
      }
      if (!ts.isCallExpression(node)) return false;
      const callee = node.expression.getText();
      // Without a fourth argument it waits on an event, not on time.
      if (callee === 'Atomics.wait') return node.arguments.length > 3;
      return /^((globalThis|global|timers)\.)?(setTimeout|setInterval)$/.test(callee);
    });
    expect(timed).toEqual([]);
  });

  it('never mock', () => {
    const mocked = places((node) => ts.isImportSpecifier(node) && /^(vi|vitest|jest)$/.test(node.name.text));
    expect(mocked).toEqual([]);
  });
});
