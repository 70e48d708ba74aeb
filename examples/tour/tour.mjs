// The tour: honest work on real files first, then ten ways to misbehave, then proof that nothing was lost.
//
//   npm start
//
// Every line is at most 100 characters; without a terminal there is no bar and no colour.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createSupervisor, defineTool } from 'leasehold';
import { z } from 'zod';
import { fileBar, row, say } from './screen.mjs';

const ISOLATES = 2;
const tool = (name, options = {}) =>
  defineTool({
    name,
    module: new URL(`./tools/${name}.mjs`, import.meta.url),
    input: z.unknown(),
    effects: 'none',
    runTimeoutMs: 400,
    graceMs: 100,
    ...options,
  });

const supervisor = createSupervisor({
  isolates: ISOLATES,
  standby: 1,
  resourceLimits: { maxOldGenerationSizeMb: 48 },
  output: { stdoutBytes: 16 * 1024 },
});
await supervisor.untilReady();

// 1. Honest work: every source file of this project, and its lock file, read and hashed across the isolates.
const digestFile = tool('digest-file', { runTimeoutMs: 10_000 });
const files = projectFiles();
const first = await digestAll('Reading and hashing this project');
const total = (key) => first.reduce((sum, digest) => sum + digest[key], 0);
say(`${files.length} files, ${total('lines')} lines, ${total('bytes')} bytes, ${total('packages')} locked packages.`);
say();

// 2. Ten tools that misbehave, each in its own way.
const faults = [
  ['hangs in a busy loop', tool('loop-forever')],
  ['never resolves', tool('never-resolve')],
  ['exits the process', tool('exit-the-process')],
  ['exhausts its heap', tool('exhaust-the-heap', { runTimeoutMs: 10_000 })],
  ['throws null', tool('throw-null')],
  ['returns a function', tool('return-a-function')],
  ['leaks a timer', tool('leak-a-timer')],
  ['pollutes a global', tool('pollute-a-global')],
  ['floods its output', tool('flood-the-output', { runTimeoutMs: 10_000 })],
  ['has an effect, then hangs', tool('charge-then-hang', { effects: 'declared' })],
];
say(row('THE TOOL …', 'STATUS', 'BECAUSE', 'TIME', 'ITS ISOLATE'));
for (const [what, faulty] of faults) {
  const result = await supervisor.runTool(faulty, { order: 'order-7' });
  say(row(what, result.status, because(result), `${Math.round(result.timing.totalMs)} ms`, fate(result)));
}
say();

// 3. Proof: the isolates lease side by side again, and the honest work gives the same digests as before.
await supervisor.untilReady();
const seats = new SharedArrayBuffer(4);
const meet = tool('meet-the-others', { runTimeoutMs: 5_000 });
const met = await Promise.all(
  Array.from({ length: ISOLATES }, () => supervisor.runTool(meet, { seats, expected: ISOLATES })),
);
const together = met.filter((result) => result.value === true).length;
const again = await digestAll('Reading and hashing it again');
const same = again.filter((digest, index) => digest.sha256 === first[index].sha256).length;
const { abandoned } = await supervisor.close();
const whole = together === ISOLATES && same === files.length && abandoned.length === 0;
say(
  `Capacity is ${whole ? 'whole again' : 'NOT whole'}: ` +
    `${together} of ${ISOLATES} isolates at once, ${same} of ${files.length} digests equal, ${abandoned.length} abandoned.`,
);
if (!whole) process.exitCode = 1;

async function digestAll(title) {
  const bar = fileBar(title, files.length);
  const results = await Promise.all(
    files.map(async (path) => {
      const result = await supervisor.runTool(digestFile, { path });
      bar.tick();
      return result;
    }),
  );
  bar.end();
  return results.map((result) => result.value ?? { sha256: result.status, lines: 0, bytes: 0, packages: 0 });
}

function because({ error, cause, output, lease }) {
  if (error) return error.code.replace('ERR_LEASEHOLD_', '') + (cause ? `, ${cause.kind}` : '');
  const condemning = lease?.findings.find((finding) => finding.condemns);
  if (condemning) return `left a ${condemning.kind}`;
  const { bytesOmitted, bytesRead } = output.stdout;
  return bytesOmitted > 0 ? `${bytesOmitted} of ${bytesRead} bytes dropped` : '–';
}

function fate({ lease }) {
  if (!lease?.isolate) return 'never touched';
  return lease.end === 'completed' ? 'kept' : 'replaced';
}

function projectFiles() {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const sources = ['machines', 'src', 'workers', 'examples'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs)$/.test(name))
      .map((name) => `${root}${folder}/${name}`),
  );
  return [`${root}package-lock.json`, ...sources.sort()];
}
