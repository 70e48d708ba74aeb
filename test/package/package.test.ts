/**
 * The package as its users get it: packed, installed in empty projects, and run there by real processes.
 *
 * Invariant: nothing is read from the checkout but the tarball. Deliberately absent: faults, which `test/faults` and
 * the newcomer script hold.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { pathsUnder } from '../support/sources.ts';
import { type Project, pack, type Tarball } from './packed.ts';

const TOOL = ['export default function double(input) {', '  return input * 2;', '}'];

/** A program that runs the tool in `tool.mjs` and prints what came of it. */
function program(load: string, module: string, more = ''): string[] {
  return [
    load,
    'async function main() {',
    `  const double = defineTool({ name: 'double', module: ${module}, input: z.number(), effects: 'none' });`,
    '  const supervisor = createSupervisor({ isolates: 1, standby: 0 });',
    '  const result = await supervisor.runTool(double, 21);',
    '  const report = { status: result.status, value: result.value, code: result.error?.code, known: isRunResult(result) };',
    more,
    '  console.log(JSON.stringify(report));',
    '  await supervisor.close();',
    '}',
    'main();',
  ];
}

const ESM = "import { createSupervisor, defineTool, isRunResult } from 'leasehold';\nimport { z } from 'zod';";
const CJS =
  "const { createSupervisor, defineTool, isRunResult } = require('leasehold');\nconst { z } = require('zod');";
const BESIDE = "new URL('./tool.mjs', import.meta.url)";
const DOUBLED = { status: 'succeeded', value: 42, known: true };

let tarball: Tarball;
let project: Project;

/** Runs a file and reads the report it prints; what it writes to stderr is told when it prints none. */
async function reported(where: Project, ...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await where.node(...args);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

beforeAll(async () => {
  tarball = await pack();
  project = await tarball.install('one');
  await project.write('package.json', ['{ "private": true }']);
  await project.write('tool.mjs', TOOL);
});
afterAll(() => tarball.remove());

describe('the tarball', () => {
  it('holds what is built and the documents for users, nothing else', () => {
    const roots = new Set(tarball.files.map((path) => path.split('/')[0]));
    expect([...roots].sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json']);
    const built = tarball.files.filter((path) => path.startsWith('dist/'));
    expect([...built].sort()).toEqual(pathsUnder('dist', /\.(js|d\.ts)$/).sort());
  });

  it('names every dependency by its exact version', () => {
    const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  it('points each export and the binary to a file it holds', () => {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    );
    const named = [...targets, ...Object.values(manifest.bin)].map((path) => path.replace(/^\.\//, ''));
    expect(named.filter((path) => !tarball.files.includes(path))).toEqual([]);
  });
});

describe('an installed copy', () => {
  it('runs a tool from an ESM project', async () => {
    await project.write('main.mjs', program(ESM, BESIDE));
    expect(await reported(project, 'main.mjs')).toEqual(DOUBLED);
  });

  it('runs a tool from CommonJS by require', async () => {
    await project.write('main.cjs', program(CJS, "require('node:path').join(__dirname, 'tool.mjs')"));
    expect(await reported(project, 'main.cjs')).toEqual(DOUBLED);
  });

  it('runs a CommonJS tool module', async () => {
    await project.write('tool.cjs', ['module.exports = (input) => input * 2;']);
    await project.write('common.mjs', program(ESM, "new URL('./tool.cjs', import.meta.url)"));
    expect(await reported(project, 'common.mjs')).toEqual(DOUBLED);
  });

  it('runs a tool of a package named by its specifier', async () => {
    await project.write('node_modules/double/package.json', [
      '{ "name": "double", "type": "module", "exports": "./double.js" }',
    ]);
    await project.write('node_modules/double/double.js', TOOL);
    await project.write('specifier.mjs', program(ESM, "'double'"));
    expect(await reported(project, 'specifier.mjs')).toEqual(DOUBLED);
  });

  it('runs from the bundle of a program that keeps it external', async () => {
    await project.write('source/main.js', program(ESM, "new URL('../tool.mjs', import.meta.url)"));
    const output = { entryFileNames: 'main.mjs' };
    await build({
      root: project.root,
      configFile: false,
      logLevel: 'silent',
      build: { ssr: 'source/main.js', outDir: 'bundled', minify: true, rolldownOptions: { output } },
      ssr: { external: ['leasehold'], noExternal: ['zod'] },
    });
    expect(await reported(project, 'bundled/main.mjs')).toEqual(DOUBLED);
  });

  it('answers its binary', async () => {
    const { code, stdout } = await project.node(
      join(project.installed, manifest.bin.leasehold),
      'run',
      'tool.mjs',
      '--input',
      '21',
    );
    expect({ code, value: stdout.trim() }).toEqual({ code: 0, value: '42' });
  });

  it('runs a TypeScript tool module where Node strips types, else says why not', async () => {
    await project.write('tool.ts', [
      'export default function double(input: number): number {',
      '  return input * 2;',
      '}',
    ]);
    await project.write('typed.mjs', program(ESM, "new URL('./tool.ts', import.meta.url)"));
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    const strips = major > 22 || (major === 22 && minor >= 18);
    const refused = { status: 'failed', code: 'ERR_LEASEHOLD_TOOL_LOAD', known: true };
    expect(await reported(project, 'typed.mjs')).toEqual(strips ? DOUBLED : refused);
  });

  it('runs a TypeScript tool module by the loader its process was given', async () => {
    await project.write('strip.mjs', [
      "import { readFileSync } from 'node:fs';",
      'export async function load(url, context, next) {',
      "  if (!url.endsWith('.ts')) return next(url, context);",
      "  const source = readFileSync(new URL(url), 'utf8').replaceAll(': number', '');",
      "  return { format: 'module', source, shortCircuit: true };",
      '}',
    ]);
    await project.write('loader.mjs', [
      "import { register } from 'node:module';",
      "register('./strip.mjs', import.meta.url);",
    ]);
    await project.write('typed.mjs', program(ESM, "new URL('./tool.ts', import.meta.url)"));
    expect(await reported(project, '--import', './loader.mjs', 'typed.mjs')).toEqual(DOUBLED);
  });
});

describe('two copies in one process', () => {
  it('know each other by brand and run side by side', async () => {
    const other = await tarball.install('two');
    const copies = [project, other].map(({ installed }) => JSON.stringify(join(installed, 'dist/src/index.js')));
    await project.write('twice.mjs', [
      `import * as one from ${copies[0]};`,
      `import * as two from ${copies[1]};`,
      "import { z } from 'zod';",
      "const tool = { name: 'double', input: z.number(), effects: 'none' };",
      `const double = { ...tool, module: ${BESIDE} };`,
      "const missing = { ...tool, module: new URL('./missing.mjs', import.meta.url) };",
      'const copies = [one, two].map((copy) => ({ copy, supervisor: copy.createSupervisor({ isolates: 1, standby: 0 }) }));',
      'const runs = copies.map(({ copy, supervisor }) => supervisor.runTool(copy.defineTool(double), 21));',
      'const [first, second] = await Promise.all(runs);',
      'const failed = await copies[0].supervisor.runTool(one.defineTool(missing), 21);',
      'const borrowed = await copies[1].supervisor.runTool(one.defineTool(double), 4);',
      'let error;',
      'try { one.unwrap(failed); } catch (thrown) { error = thrown; }',
      'console.log(JSON.stringify({',
      '  apart: one.createSupervisor !== two.createSupervisor,',
      '  values: [two.unwrap(first), one.unwrap(second), borrowed.value],',
      '  results: [two.isRunResult(first), one.isRunResult(second), two.isRunResult(failed)],',
      '  error: [two.isLeaseholdError(error), error instanceof two.LeaseholdError, error.leaseholdCode],',
      '}));',
      'await Promise.all(copies.map(({ supervisor }) => supervisor.close()));',
    ]);
    expect(await reported(project, 'twice.mjs')).toEqual({
      apart: true,
      values: [42, 42, 8],
      results: [true, true, true],
      error: [true, false, 'ERR_LEASEHOLD_TOOL_LOAD'],
    });
  });
});

describe('a copy without its thread entry', () => {
  it('says so by name at once', async () => {
    const broken = await tarball.install('broken');
    await rm(join(broken.installed, 'dist/workers/isolate.js'));
    await broken.write('main.mjs', [
      "import { createSupervisor, isLeaseholdError } from 'leasehold';",
      'try {',
      '  createSupervisor({ isolates: 1 });',
      '} catch (error) {',
      '  console.log(JSON.stringify({ known: isLeaseholdError(error), code: error.code, message: error.message }));',
      '}',
    ]);
    expect(await reported(broken, 'main.mjs')).toEqual({
      known: true,
      code: 'ERR_LEASEHOLD_ENTRY_MISSING',
      message: expect.stringContaining('isolate.js'),
    });
  });
});
