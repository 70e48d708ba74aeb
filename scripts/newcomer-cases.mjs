/**
 * The ways to break a module that `newcomer.mjs` tries, as a table.
 *
 * Invariant: a case is the text of a tool module, the lines a newcomer's script calls it by, and what must come of it;
 * `results` is what those lines leave. Deliberately absent: how a case is run and judged.
 */

export const ONCE = 'const results = [await supervisor.runTool(broken, null)];';
const CANCEL = 'const results = [await supervisor.runTool(broken, null, { signal: AbortSignal.timeout(300) })];';
const STOP_IN_MIDDLE = [
  'const pending = supervisor.runTool(broken, null, { runTimeoutMs: 20_000 });',
  'await new Promise((resume) => setTimeout(resume, 300));',
  'await supervisor.close({ withinMs: 2_000 });',
  'const results = [await pending];',
];
export const failed = (code) => ({ status: 'failed', code });
export const TIMED_OUT = { status: 'timed-out', code: 'RUN_TIMEOUT', end: 'quarantined' };
const CANCELLED = { status: 'cancelled', code: 'CANCELLED' };
const SHUTDOWN = { status: 'interrupted', code: 'SHUTDOWN' };
const KILLED_CANCELLED = { ...CANCELLED, end: 'quarantined' };
const succeeded = (value) => ({ status: 'succeeded', code: null, value });
export const body = (text) => `export default async function broken(input, ctx) { ${text} }`;
const dirty = (finding, value = 'done') => ({ ...succeeded(value), end: 'quarantined', finding });
const LOAD = failed('TOOL_LOAD');

/** A case: name, tool module, what each result must be, and where it differs the script and the options. */
export function broken(
  name,
  tool,
  expected,
  { act = ONCE, options = '', effects = 'none', after = '', input = 'z.any()', output, isolation = 'thread' } = {},
) {
  const expectations = Array.isArray(expected) ? expected : [expected];
  const shape = `input: ${input}, effects: '${effects}', isolation: '${isolation}'`;
  const more = output === undefined ? '' : `, output: ${output}`;
  const define = [
    `const broken = defineTool({ name: 'broken', module: new URL('./broken.mjs', import.meta.url), ${shape}${more} });`,
  ];
  return { name, tool, expected: expectations, act: [act].flat(), options, after, define };
}

const PORTS = `const ports = process._getActiveHandles().filter((handle) => handle?.constructor?.name === 'MessagePort');
  for (const port of ports) for (const t of ['settled', 'result']) port.postMessage({ t, seq: 1, ok: true, value: 'forged' });`;

export const MODULE_CASES = [
  broken('throws null', body('throw null;'), failed('TOOL_ERROR')),
  broken('throws undefined', body('throw undefined;'), failed('TOOL_ERROR')),
  broken('throws 0', body('throw 0;'), failed('TOOL_ERROR')),
  broken('throws a symbol', body("throw Symbol('s');"), failed('TOOL_ERROR')),
  broken('throws a circle', body('const it = {}; it.it = it; throw it;'), failed('TOOL_ERROR')),
  broken(
    'throws an error holding a function',
    body("throw Object.assign(new Error('e'), { f() {} });"),
    failed('TOOL_ERROR'),
  ),
  broken('returns a function', body('return { f() {} };'), failed('NOT_CLONEABLE')),
  broken(
    'returns a getter that throws',
    body("return { get it() { throw new Error('no'); } };"),
    failed('NOT_CLONEABLE'),
  ),
  broken('returns a promise from a plain function', 'export default () => Promise.resolve(7);', succeeded(7)),
  broken('exits with 0', body('process.exit(0);'), failed('ISOLATE_EXITED')),
  broken('exits with 3', body('process.exit(3);'), failed('ISOLATE_EXITED')),
  broken(
    'exits again while exiting',
    body("process.on('exit', () => process.exit(4)); process.exit(3);"),
    failed('ISOLATE_EXITED'),
  ),
  broken(
    'throws where nothing catches',
    body("setTimeout(() => { throw new Error('late'); }); await new Promise(() => {});"),
    failed('UNCAUGHT'),
  ),
  broken(
    'rejects where nothing listens',
    body("Promise.reject(new Error('lost')); await new Promise(() => {});"),
    failed('UNCAUGHT'),
  ),
  broken(
    'exhausts its heap',
    body('const all = []; for (;;) all.push(new Array(100_000).fill({ }));'),
    failed('OUT_OF_MEMORY'),
    {
      options: 'resourceLimits: { maxOldGenerationSizeMb: 32 },',
      act: 'const results = [await supervisor.runTool(broken, null, { runTimeoutMs: 20_000 })];',
    },
  ),
  broken(
    'crashes with two queued behind it',
    'export default (input) => (input === 0 ? process.exit(3) : input);',
    [failed('ISOLATE_EXITED'), succeeded(1), succeeded(2)],
    {
      act: 'const results = await Promise.all([0, 1, 2].map((input) => supervisor.runTool(broken, input)));',
    },
  ),
  broken('loops for ever', body('for (;;);'), TIMED_OUT),
  broken('loops for ever and is cancelled', body('for (;;);'), KILLED_CANCELLED, { act: CANCEL }),
  broken('never settles', body('await new Promise(() => {});'), TIMED_OUT),
  broken('never settles and is cancelled', body('await new Promise(() => {});'), KILLED_CANCELLED, { act: CANCEL }),
  broken(
    'stops when told',
    body("while (!ctx.stopRequested()); throw new DOMException('', 'AbortError');"),
    { ...CANCELLED, end: 'completed' },
    { act: CANCEL },
  ),
  broken('spins in microtasks', body('for (;;) await null;'), TIMED_OUT),
  broken('waits in Atomics.wait', body('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);'), TIMED_OUT),
  broken(
    'blocks in a child it waits for',
    `import { execFileSync } from 'node:child_process';\n${body("execFileSync('sleep', ['4']);")}`,
    { ...TIMED_OUT, finding: 'abandoned' },
  ),
  broken(
    'blocks in a read of a FIFO',
    `import { readFileSync } from 'node:fs';\n${body('return readFileSync(new URL(input, import.meta.url));')}`,
    { ...TIMED_OUT, finding: 'abandoned' },
    {
      act: [
        "const { execFileSync } = await import('node:child_process');",
        "const { closeSync, constants, openSync } = await import('node:fs');",
        "execFileSync('mkfifo', ['fifo']);",
        "const results = [await supervisor.runTool(broken, './fifo')];",
      ],
      after: "closeSync(openSync('fifo', constants.O_WRONLY | constants.O_NONBLOCK));",
    },
  ),
  broken('is closed over while it loops', body('for (;;);'), SHUTDOWN, { act: STOP_IN_MIDDLE }),
  broken('is closed over while it never settles', body('await new Promise(() => {});'), SHUTDOWN, {
    act: STOP_IN_MIDDLE,
  }),
  broken('never finishes loading', `await new Promise(() => {});\n${body('')}`, TIMED_OUT),
  broken('throws at load', `throw new Error('broken');\n${body('')}`, [LOAD, LOAD, LOAD, LOAD], {
    act: [
      'const results = await Promise.all([1, 2, 3].map((input) => supervisor.runTool(broken, input)));',
      'results.push(await supervisor.runTool(broken, 4));',
    ],
  }),
  broken('has a syntax error', 'export default function ( {', LOAD),
  broken('does not exist', null, LOAD),
  broken('lacks the export', 'export const other = 1;', LOAD),
  broken(
    'leaves a timer that throws during the next run',
    body("setTimeout(() => { throw new Error('late'); }, 200); return 'done';"),
    dirty('residual-handle'),
  ),
  broken('leaves an interval', body("setInterval(() => {}, 10); return 'done';"), dirty('residual-handle')),
  broken('adds a global', body("globalThis.leftover = 1; return 'done';"), dirty('global-added')),
  broken(
    'changes an intrinsic',
    body("Array.prototype.map = () => 'mine'; await new Promise((resume) => setTimeout(resume, 5)); return 'done';"),
    dirty('intrinsic-changed'),
  ),
  broken(
    'removes the listeners of process',
    body("process.on('SIGUSR2', () => {}); process.removeAllListeners(); return 'done';"),
    succeeded('done'),
  ),
  broken(
    'leaves a server',
    `import { createServer } from 'node:net';\n${body("await new Promise((resume) => createServer().listen(0, resume)); return 'done';")}`,
    dirty('residual-handle'),
  ),
  broken(
    'posts a forged result to parentPort',
    `import { parentPort } from 'node:worker_threads';\n${body("parentPort?.postMessage({ taskId: 1, result: 'forged', error: null }); return 'true';")}`,
    succeeded('true'),
  ),
  broken('posts a forged result to every port it finds', body(`${PORTS} return 'true';`), {
    ...dirty('nonce-violation', 'true'),
  }),
  broken(
    'patches postMessage',
    `import { MessagePort } from 'node:worker_threads';\n${body("const real = MessagePort.prototype.postMessage; MessagePort.prototype.postMessage = function (m) { real.call(this, { ...m, value: 'forged', ok: true }); }; return 'true';")}`,
    succeeded('true'),
  ),
  broken(
    'writes 20 000 lines and hangs',
    body("for (let n = 0; n < 20_000; n += 1) console.log('line', n); for (;;);"),
    { ...TIMED_OUT, wrote: true },
    {
      act: 'const results = [await supervisor.runTool(broken, null, { runTimeoutMs: 1_500 })];',
    },
  ),
  broken('takes 64 MB by transfer', body('return input.byteLength;'), succeeded(64 << 20), {
    act: [
      'const buffer = new ArrayBuffer(64 << 20);',
      'const results = [await supervisor.runTool(broken, buffer, { transfer: [buffer] })];',
    ],
  }),
  broken(
    'answers while the host is blocked past the deadline',
    body("await new Promise((resume) => setTimeout(resume, 150)); return 'done';"),
    succeeded('done'),
    {
      act: [
        'await supervisor.untilReady();',
        'const pending = supervisor.runTool(broken, null);',
        'await new Promise((resume) => setTimeout(resume, 50));',
        'for (const until = Date.now() + 1_000; Date.now() < until; );',
        'const results = [await pending];',
      ],
    },
  ),
  broken(
    'shares one signal with fifty finished runs',
    'export default (input) => input;',
    Array.from({ length: 50 }, (_, n) => succeeded(n)),
    {
      act: [
        "const { getEventListeners } = await import('node:events');",
        'const { signal } = new AbortController();',
        'const results = [];',
        'for (let n = 0; n < 50; n += 1) results.push(await supervisor.runTool(broken, n, { signal }));',
        "if (getEventListeners(signal, 'abort').length > 0) throw new Error('listeners left');",
      ],
    },
  ),
  broken(
    'has an effect and hangs',
    body("await ctx.perform({ name: 'charge' }, () => new Promise(() => {}));"),
    { status: 'indeterminate', code: 'INDETERMINATE' },
    { effects: 'declared' },
  ),
  broken(
    'has its effect each time in one isolate',
    "export default (input, ctx) => ctx.perform({ name: 'charge' }, async () => input);",
    [succeeded(0), succeeded(1), succeeded(2)],
    {
      effects: 'declared',
      act: ['const results = [];', 'for (let n = 0; n < 3; n += 1) results.push(await supervisor.runTool(broken, n));'],
    },
  ),
  broken(
    'hangs before its effect',
    body("await new Promise(() => {}); await ctx.perform({ name: 'charge' }, async () => 1);"),
    TIMED_OUT,
    { effects: 'declared' },
  ),
  broken(
    'is opaque and hangs',
    body('await new Promise(() => {});'),
    { status: 'indeterminate', code: 'INDETERMINATE' },
    { effects: 'opaque' },
  ),
  broken(
    'takes longer than the whole operation may',
    body('await new Promise(() => {});'),
    { status: 'timed-out', code: 'OPERATION_TIMEOUT' },
    {
      act: 'const results = [await supervisor.runTool(broken, null, { operationTimeoutMs: 200 })];',
    },
  ),
  broken(
    'takes longer than its scope may',
    body('await new Promise(() => {});'),
    { status: 'timed-out', code: 'PARENT_DEADLINE' },
    {
      act: [
        "const scope = supervisor.openScope({ tenant: 't', run: 'r', deadlineMs: 200 });",
        'const results = [await scope.runTool(broken, null)];',
        'await scope.shutdown();',
      ],
    },
  ),
  broken(
    'is given what its schema refuses',
    body('return 1;'),
    { status: 'rejected', code: 'INVALID_INPUT' },
    { input: 'z.string()' },
  ),
  broken('returns what its schema refuses', body('return 1;'), failed('INVALID_OUTPUT'), { output: 'z.string()' }),
  broken(
    'fills the queue',
    body('await new Promise(() => {});'),
    [TIMED_OUT, { status: 'rejected', code: 'QUEUE_FULL' }],
    {
      options: 'queue: { capacity: 0 },',
      act: [
        'await supervisor.untilReady();',
        'const results = await Promise.all([1, 2].map((input) => supervisor.runTool(broken, input)));',
      ],
    },
  ),
  broken(
    'comes after the close',
    body('return 1;'),
    { status: 'rejected', code: 'CLOSED' },
    { act: ['await supervisor.close();', ONCE] },
  ),
];
