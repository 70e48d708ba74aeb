// All benchmarks in one run, side by side with the peers.
//
//   npm run bench                    every question; raw figures go to bench/results/
//   npm run bench -- --smoke         a short run that only shows that all of it runs; nothing is kept
//   npm run bench -- round-trip …    some questions
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, availableParallelism, cpus, platform } from 'node:os';
import { parseArgs } from 'node:util';
import { printQuestion, verdicts } from './support/table.mjs';

const NAMES = [
  'round-trip',
  'saturated-throughput',
  'capacity-after-a-hang',
  'payload',
  'host-cost',
  'deep-queue',
  'looks',
  'controls',
  'who-hangs',
  'durable',
];
const { values, positionals } = parseArgs({ options: { smoke: { type: 'boolean' } }, allowPositionals: true });
const smoke = values.smoke ?? false;
const unknown = positionals.filter((name) => !NAMES.includes(name));
if (unknown.length > 0) throw new Error(`no such question: ${unknown.join(', ')}; there are ${NAMES.join(', ')}`);

/** Dependencies are pinned, so the package file knows what runs here. */
const { version, dependencies, devDependencies } = createRequire(import.meta.url)('leasehold/package.json');
const pinned = { leasehold: version, ...dependencies, ...devDependencies };
const names = [
  ...['leasehold', 'piscina', 'tinypool', 'workerpool', 'poolifier', 'jest-worker'],
  ...['execa', 'tinyexec', 'nano-spawn'],
];
const machine = {
  node: process.version,
  platform: `${platform()} ${arch()}`,
  cpu: cpus()[0]?.model ?? 'unknown',
  cpus: availableParallelism(),
  versions: Object.fromEntries(names.map((name) => [name, pinned[name]])),
};
console.log(`Node ${machine.node}, ${machine.platform}, ${machine.cpus} x ${machine.cpu}`);
console.log(
  Object.entries(machine.versions)
    .map((pair) => pair.join(' '))
    .join(', '),
);

const answers = [];
for (const name of positionals.length > 0 ? positionals : NAMES) {
  const { question } = await import(`./${name}.mjs`);
  const variants = await question.measure({ smoke });
  if (question.keeps !== undefined) {
    question.print(variants);
    if (!smoke)
      keep(`${question.keeps}-`, { machine, title: question.title, verdicts: question.verdicts(variants), variants });
    continue;
  }
  printQuestion(question, variants);
  const { title, unit, better, reference } = question;
  answers.push({ name, title, unit, better, reference, verdicts: verdicts(question, variants), variants });
}

if (!smoke && positionals.length === 0) keep('', { machine, answers });

// A peer that did not close must not hold the process.
process.exit();

function keep(prefix, figures) {
  const folder = new URL('./results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const file = new URL(`${prefix}node-${process.versions.node}-${platform()}-${arch()}.json`, folder);
  writeFileSync(file, `${JSON.stringify(figures, null, 1)}\n`);
  console.log(`\nRaw figures: bench/results/${file.pathname.split('/').pop()}`);
}
