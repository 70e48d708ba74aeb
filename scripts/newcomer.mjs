/**
 * Does what a newcomer would: installs the packed tarball in an empty project, writes a tool in a file, runs it under a
 * supervisor from a ten-line script, and breaks it in every way of `newcomer-cases.mjs` and `newcomer-programs.mjs`, each in
 * a process of its own.
 *
 * Invariant: the last line is `N of N`, and the exit code is zero, only if every result told the truth within its bound,
 * the supervisor went on, and the process ended by itself. Deliberately absent: anything imported from the checkout.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MODULE_CASES } from './newcomer-cases.mjs';
import { PROGRAM_CASES } from './newcomer-programs.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const place = mkdtempSync(join(tmpdir(), 'leasehold-newcomer-'));

/** A machine under load notices late; a result may be this much over its bound. */
const SLACK_MS = 1_000;
/** A process that has not ended by then never will. */
const LIMIT_MS = 60_000;
const AT_ONCE = 2;

function install() {
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', place], {
    cwd: root,
  });
  const tarball = join(place, JSON.parse(packed)[0].filename);
  writeFileSync(join(place, 'package.json'), '{ "private": true, "type": "module" }\n');
  try {
    const packages = [tarball, `zod@${manifest.dependencies.zod}`];
    const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', ['install', ...flags, ...packages], { cwd: place, stdio: 'ignore', timeout: 120_000 });
    return 'installed by npm';
  } catch {
    const target = join(place, 'node_modules', manifest.name);
    rmSync(join(place, 'node_modules'), { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
    for (const name of Object.keys(manifest.dependencies)) {
      symlinkSync(join(root, 'node_modules', name), join(place, 'node_modules', name), 'junction');
    }
    return 'unpacked beside linked dependencies, since npm could not install';
  }
}

function script({ act, options, after, define }) {
  return [
    "import { createSupervisor, defineTool } from 'leasehold';",
    "import { z } from 'zod';",
    ...define,
    "const sound = defineTool({ name: 'sound', module: new URL('../sound.mjs', import.meta.url), input: z.any(), effects: 'none' });",
    `const supervisor = createSupervisor({ isolates: 1, ${options} defaults: { runTimeoutMs: 600, graceMs: 100, killMs: 800 } });`,
    ...act,
    'const next = [await supervisor.runTool(sound, 1), await supervisor.runTool(sound, 2)];',
    'await supervisor.close();',
    'console.log(JSON.stringify({ results, next }));',
    after,
  ];
}

function run(directory) {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['main.mjs'],
      { cwd: directory, timeout: LIMIT_MS, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : (error.code ?? `killed after ${LIMIT_MS} ms`), stdout, stderr });
      },
    );
  });
}

/** What is wrong with one result; empty when nothing is. */
function faultsOf(result, expected) {
  const code = result.error?.code.replace('ERR_LEASEHOLD_', '') ?? null;
  const findings = result.lease?.findings.map(({ kind }) => kind) ?? [];
  const from = result.cause?.atMs ?? result.timing.queuedMs + 1_500;
  const over = result.timing.totalMs - from - result.timing.boundMs;
  const faults = [];
  if (result.status !== expected.status) faults.push(`status ${result.status}`);
  if (code !== expected.code) faults.push(`code ${code}`);
  if ('value' in expected && result.value !== expected.value) faults.push(`value ${JSON.stringify(result.value)}`);
  if (expected.end && result.lease?.end !== expected.end) faults.push(`lease ${result.lease?.end}`);
  if (expected.finding && !findings.includes(expected.finding))
    faults.push(`findings ${findings.join(', ') || 'none'}`);
  if (expected.signal && result.exit?.signal !== expected.signal) faults.push(`signal ${result.exit?.signal}`);
  if (expected.holder && !result.output.drain.holders.some((holder) => holder.startsWith(expected.holder)))
    faults.push(`pipe held by ${result.output.drain.holders.join(', ') || 'nobody'}`);
  const told = JSON.stringify(result);
  if (expected.hides?.some((form) => told.includes(form))) faults.push('a secret shows');
  if (expected.wrote && !(result.output.stdout.bytesRead > 100_000)) faults.push('output lost');
  if (over > SLACK_MS) faults.push(`${Math.round(over)} ms over its bound`);
  return faults;
}

function faultsOfRun({ code, stdout, stderr }, each) {
  let told;
  try {
    told = JSON.parse(stdout);
  } catch {
    return {
      faults: [`told nothing; exit ${code}; ${stderr.split('\n').find((line) => /Error/.test(line)) ?? ''}`],
      results: [],
    };
  }
  const { results, next } = told;
  const faults = each.expected.flatMap((expected, n) => (results[n] ? faultsOf(results[n], expected) : ['no result']));
  if (results.length !== each.expected.length) faults.push(`${results.length} results`);
  if (code !== 0) faults.push(`exit ${code}`);
  if (stderr !== '') faults.push(`stderr: ${stderr.split('\n')[0]}`);
  // Where the case itself closed the supervisor, the truth about later requests is that they are refused.
  const closed = each.act.some((line) => line.includes('supervisor.close('));
  const onward = closed ? 'rejected' : 'succeeded';
  const stuck = next.filter((result) => result.status !== onward);
  if (stuck.length > 0) faults.push(`then ${stuck[0].status} ${stuck[0].error?.code ?? ''}`);
  return { faults, results };
}

async function judge(each, number) {
  const directory = join(place, `case-${number}`);
  mkdirSync(directory);
  if (each.tool !== null) writeFileSync(join(directory, 'broken.mjs'), `${each.tool}\n`);
  writeFileSync(join(directory, 'main.mjs'), `${script(each).join('\n')}\n`);
  const { faults, results } = faultsOfRun(await run(directory), each);
  const [first] = results;
  const line = [
    faults.length === 0 ? 'ok  ' : 'FAIL',
    each.name.padEnd(52),
    (first?.status ?? '-').padEnd(14),
    (first?.error?.code.replace('ERR_LEASEHOLD_', '') ?? '').padEnd(18),
    `${Math.round(first?.timing.totalMs ?? 0)} ms`.padStart(8),
  ];
  console.log(line.join(' '));
  for (const fault of faults) console.log(`       ${fault}`);
  return faults.length === 0;
}

try {
  console.log(`${manifest.name} ${manifest.version}, ${install()}, on Node ${process.version}\n`);
  writeFileSync(join(place, 'sound.mjs'), 'export default (input) => input + 1;\n');
  const only = process.argv[2];
  const waiting = [...MODULE_CASES, ...PROGRAM_CASES]
    .filter(({ name }) => only === undefined || name.includes(only))
    .entries();
  let tried = 0;
  let truthful = 0;
  const lane = async () => {
    for (const [number, each] of waiting) {
      tried += 1;
      if (await judge(each, number)) truthful += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  console.log(`\n${truthful} of ${tried}`);
  process.exitCode = truthful === tried ? 0 : 1;
} finally {
  rmSync(place, { recursive: true, force: true });
}
