/**
 * The README: its examples run and print what they say, and its tables list what the code has.
 *
 * Invariant: a block that begins with `// NAME.mjs` is a file; one marked `run` is started, and prints its `// →` lines.
 * Deliberately absent: the error codes, which `errors.test.ts` compares.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT_CODES } from '../src/cli/usage.ts';
import { DEFAULTS } from '../src/model/options.ts';
import { LEASE_STATES, STATUSES, STOP_KINDS } from '../src/model/stop.ts';
import { nodesOf, parse, pathsUnder, ROOT } from './support/sources.ts';

/** However wide its tables are set. */
const text = parse('README.md').text.replace(/^\|.*\|$/gm, (row) => row.replace(/ *\| */g, ' | ').trim());
const start = promisify(execFile);

const blocks = [...text.matchAll(/```js( run)?\n\/\/ ([\w-]+\.mjs)(?::[^\n]*)?\n([\s\S]*?)```/g)].map(
  ([whole, run, name = '', body = '']) => ({
    run: run !== undefined,
    name,
    code: body,
    prints: [...whole.matchAll(/\/\/ → (.*)\n/g)].map(([, line]) => line),
  }),
);

const folder = mkdtempSync(join(tmpdir(), 'leasehold-readme-'));
beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/leasehold'), 'dir');
  symlinkSync(join(ROOT, 'node_modules/zod'), join(folder, 'node_modules/zod'), 'dir');
  for (const { name, code } of blocks) writeFileSync(join(folder, name), code);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('README example', () => {
  it.each(blocks.filter(({ run }) => run))('$name prints what it says', async ({ name, prints }) => {
    const { stdout, stderr } = await start(process.execPath, [join(folder, name)]);
    expect({ lines: stdout.trimEnd().split('\n'), stderr }).toEqual({ lines: prints, stderr: '' });
  });

  it('is no JavaScript block without a file name, which would not run', () => {
    expect(text.match(/```js/g)).toHaveLength(blocks.length);
  });

  it('on the first screen has at most 15 lines', () => {
    const [tool, main] = blocks;
    const lines = `${tool?.code}${main?.code}`.trimEnd().split('\n');
    expect(lines.length + 2).toBeLessThanOrEqual(15);
  });
});

/** The first cells of the rows under a heading and, where there are several tables, under the first cell of its head. */
function rowsOf(heading: string, head: string): string[][] {
  const section = text.split(/\n##+ /).find((part) => part.startsWith(heading)) ?? '';
  const tables = section.split('\n\n').filter((part) => part.startsWith('| '));
  const table = tables.find((part) => part.startsWith(`| ${head} |`));
  expect(table, `a table '${head}' under '${heading}'`).toBeDefined();
  return (table ?? '')
    .split('\n')
    .slice(2)
    .map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .map(([, ...cells]) => cells);
}
const wordsOf = (rows: readonly string[][]): string[] =>
  rows.flatMap(([cell = '']) => [...cell.matchAll(/`(\w[\w-]*)/g)].map(([, word = '']) => word));

/** The members of an interface somewhere in `src` or `workers`. */
function membersOf(name: string): string[] {
  for (const path of [...pathsUnder('src', /\.ts$/), ...pathsUnder('workers', /\.ts$/)]) {
    for (const node of nodesOf(parse(path).syntax)) {
      if (ts.isInterfaceDeclaration(node) && node.name.text === name) {
        return node.members.flatMap((member) => (member.name ? [member.name.getText()] : []));
      }
    }
  }
  throw new Error(`no interface ${name}`);
}

describe('README table', () => {
  it.each([
    ['The result', 'Field', ['RunReport', 'Succeeded']],
    ['Tools', 'Member', ['ToolContext']],
    ['Options', '`defaults`', ['Bounds']],
    ['Options', '`output`', ['OutputLimits']],
  ])('under "%s", %s, has a row for each member and no other', (heading, head, names) => {
    const words = rowsOf(heading, head).flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)/g)].map(([, word]) => word));
    expect(words.sort()).toEqual(names.flatMap(membersOf).sort());
  });

  it.each([
    ['SupervisorOptions', ['isolates', 'inspect']],
    ['RunOptions', ['signal', 'transfer']],
    ['ScopeOptions', ['tenant', 'deadlineMs']],
  ])('of options lists every one of %s', (name, marks) => {
    const section = text.split('\n## Options')[1]?.split('\n## ')[0] ?? '';
    const tables = section.split(/\n\n/).filter((part) => part.startsWith('| Option'));
    const table = tables.find((part) => marks.every((mark) => part.includes(`\`${mark}`))) ?? '';
    const cells = table.split('\n').map((row) => row.split('|')[1] ?? '');
    const words = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, word]) => word));
    expect(words.sort()).toEqual(membersOf(name).sort());
  });

  it('of bounds tells the defaults that hold', () => {
    const told = rowsOf('Options', '`defaults`').map(([name = '', value = '']) => [
      name.replaceAll('`', ''),
      Number(value.replaceAll(' ', '')),
    ]);
    expect(Object.fromEntries(told)).toEqual(DEFAULTS.bounds);
  });

  it('of states, stops and statuses follows the words of the model', () => {
    expect(wordsOf(rowsOf('States and stops', 'State'))).toEqual([...LEASE_STATES]);
    expect(wordsOf(rowsOf('States and stops', 'Stop'))).toEqual([...STOP_KINDS]);
    expect(wordsOf(rowsOf('The result', 'Status'))).toEqual([...STATUSES]);
  });
});

describe('README', () => {
  it('tells the exit codes of the binary', () => {
    const line = /Exit codes: ([\s\S]*?)\. A process/.exec(text)?.[1]?.replaceAll('\n', ' ') ?? '';
    const told = Object.fromEntries(line.split('·').map((pair) => pair.trim().split(' ').reverse()));
    const codes = Object.entries({ usage: 2, ...EXIT_CODES }).map(([name, code]) => [name, String(code)]);
    expect(told).toEqual(Object.fromEntries(codes));
  });

  it('links to files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([]);
  });

  it('links each promise to its test, and leaves no promise out', () => {
    const links = [...text.matchAll(/\]\((test\/promises\/[^)]+)\)/g)].map(([, link = '']) => link);
    expect([...new Set(links)].sort()).toEqual([...pathsUnder('test/promises', /\.test\.ts$/)].sort());
    const promises = text.split('\nWhat it promises')[1]?.split('\n\n')[1] ?? '';
    expect(promises.split(/^- /m).slice(1)).not.toEqual([]);
    expect(promises.split(/^- /m).filter((line) => line !== '' && !line.includes('](test/promises/'))).toEqual([]);
  });

  it('links to headings that exist', () => {
    const headings = [...text.matchAll(/^##+ (.*)$/gm)].map(([, words = '']) =>
      words.toLowerCase().replaceAll(' ', '-'),
    );
    const anchors = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor);
    expect(anchors.filter((anchor) => !headings.includes(anchor))).toEqual([]);
  });
});
