/**
 * The README: its examples run and print what they say, and its tables list what the code has.
 *
 * Invariant: a block that begins with `// NAME.mjs` is a file; one marked `run` is started, and prints its `// →` lines.
 * Deliberately absent: the error codes, which `errors.test.ts` compares.
 */
import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import hangs from '../bench/results/who-hangs-node-20.20.2-linux-x64.json' with { type: 'json' };
import { EXIT_CODES, USAGE } from '../src/cli/usage.ts';
import type { Event } from '../src/model/event.ts';
import { DEFAULTS } from '../src/model/options.ts';
import { FINDING_KINDS } from '../src/model/result.ts';
import { LEASE_STATES, STATUSES, STOP_KINDS } from '../src/model/stop.ts';
import { Channels } from '../src/run/channels.ts';
import * as tools from '../src/tools/index.ts';
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
    const { stdout, stderr } = await start(process.execPath, ['--no-warnings', join(folder, name)]);
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

/** How one call of the saved run went. */
interface Cell {
  readonly runner: string;
  readonly scenario: string;
  readonly settledMs: number | null;
  readonly leaks: readonly string[];
}
const PROGRAMS = ['ProcessTool', 'ShellTool', 'PowershellTool'];
const FILES = ['ReadFileTool', 'WriteFileTool', 'ListFilesTool'];

/** What a maker of tools says it knows when it is given what nobody knows; the names of its input apart. */
function knownTo(make: (definition: never) => unknown): string[] {
  try {
    make({ noSuchOption: true } as never);
  } catch (error) {
    const list = /known are (.*)\.$/.exec(String(error))?.[1];
    if (list !== undefined) return list.split(', ');
  }
  throw new Error('an unknown option was not refused by name');
}

describe('README table', () => {
  it.each([
    ['The result', 'Field', ['RunReport', 'Succeeded']],
    ['Tools', 'Member', ['ToolContext']],
    ['Options', '`defaults`', ['Bounds']],
    ['Options', '`output`', ['OutputLimits']],
    ['Tools', 'Option', ['ToolTerms', 'ToolDefinition']],
    ['Trying again', '`retry`', ['RetryOptions']],
    ['Modules in processes', 'Permission', ['Permissions']],
    ['Programs', 'Option', ['ToolTerms', 'CommandTerms', ...PROGRAMS.map((name) => `${name}Definition`)]],
    ['HTTP', 'Option', ['ToolTerms', 'HttpToolDefinition']],
    ['Files', 'Option', ['ToolTerms', 'FileToolOptions', ...FILES.map((name) => `${name}Options`)]],
  ])('under "%s", %s, has a row for each member and no other', (heading, head, names) => {
    const members = names.flatMap(membersOf).filter((name) => heading !== 'Files' || name !== 'input');
    expect(wordsOf(rowsOf(heading, head)).sort()).toEqual([...new Set(members)].sort());
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

  it.each([
    ['Programs', ['process', 'shell', 'PowerShell'], [tools.processTool, tools.shellTool, tools.powershellTool]],
    ['HTTP', [''], [tools.httpTool]],
    ['Files', ['read', 'write', 'list'], [tools.readFileTool, tools.writeFileTool, tools.listFilesTool]],
  ])('under "%s" tells of each tool every option that it knows and no other', (heading, kinds, makers) => {
    const ofAll = rowsOf(heading, 'Option');
    for (const [index, make] of makers.entries()) {
      const kind = kinds[index] ?? '';
      const own = ofAll.filter(([, of = '']) => kind === '' || /^all\b/.test(of) || of.includes(kind));
      expect(wordsOf(own).sort(), kind).toEqual(knownTo(make).sort());
    }
  });

  it('of built-in tools names each of them', () => {
    const made = Object.entries(tools).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
    expect(wordsOf(rowsOf('Built-in tools', 'Tool')).sort()).toEqual(made.sort());
  });

  it('of findings names what a search for processes can come to', () => {
    const kinds = wordsOf(rowsOf('What a program leaves behind', 'Finding'));
    expect(kinds).toEqual(FINDING_KINDS.slice(FINDING_KINDS.indexOf('orphans-killed')));
  });

  it('of the options of the binary follows its usage', () => {
    const told = rowsOf('Command line', 'Option').flatMap(([cell = '']) => cell.match(/--[a-z-]+/g) ?? []);
    expect(told.sort()).toEqual([...new Set(USAGE.match(/--[a-z-]+/g))].sort());
  });

  it('of channels tells each event on its own, and all that are not of tools', () => {
    const channels = new Channels();
    const rows = rowsOf('Channels', 'Channel').map(([name = '', told = '']) => ({
      name: name.replaceAll('`', ''),
      told: [...told.matchAll(/`(\w+\.\w+)`/g)].map(([, type = '']) => type),
    }));
    for (const { name, told } of rows) {
      const heard: unknown[] = [];
      const hear = (message: unknown) => heard.push((message as Event).type);
      subscribe(name, hear);
      for (const type of told) channels.onEvent({ type } as Event);
      unsubscribe(name, hear);
      expect(heard, name).toEqual(told);
    }
    const types = parse('src/model/event.ts').text.match(/(?<=')[a-z]+\.[a-z]+(?=')/g) ?? [];
    const expected = [...new Set(types)].filter((type) => !type.startsWith('tool.'));
    expect(rows.flatMap(({ told }) => told).sort()).toEqual(expected.sort());
  });

  it('of runners says pending and leak where the saved run has them', () => {
    const runners = ['execFile', 'execa', 'tinyexec', 'nano-spawn', 'shellTool'];
    const cellOf = ({ settledMs, leaks }: Cell) =>
      settledMs === null ? 'pending' : leaks.length > 0 ? 'leak' : 'settled';
    const saved = hangs.variants as readonly Cell[];
    for (const [command = '', ...cells] of rowsOf('Beside other ways to start a process', 'The command')) {
      const scenario = wordsOf([[command]])[0];
      const found = runners.map((runner) => saved.find((cell) => cell.runner === runner && cell.scenario === scenario));
      const told = cells.slice(0, runners.length).map((cell) => /pending|leak/.exec(cell)?.[0] ?? 'settled');
      expect(told, scenario).toEqual(found.map((cell) => cell && cellOf(cell)));
    }
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
