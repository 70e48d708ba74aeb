/**
 * The ways to break a process, a program, a file, a request, a confirmation and a secret that `newcomer.mjs` tries.
 *
 * Invariant: as in `newcomer-cases.mjs`; whatever a case starts would live for 30 s, longer than its bound. Deliberately
 * absent: how a case is run and judged.
 */
import { body, broken, failed, ONCE, TIMED_OUT } from './newcomer-cases.mjs';

/** The same with a tool of `leasehold/tools`: how it is made, by which terms. */
function builtIn(name, make, terms, expected, { act = ONCE, options = '', before = [] } = {}) {
  const load = `const { ${make} } = await import('leasehold/tools');`;
  const define = [load, ...before, `const broken = ${make}({ name: 'broken', ${terms} });`];
  return { name, tool: null, expected: [expected], act: [act].flat(), options, after: '', define };
}
const program = (script) => `script: ${JSON.stringify(script)}, input: z.any(), effects: 'none'`;

const SECRET = 'tok-5e1f0c9d7b3a';
/** The binary of the installed package, run to its end; what it printed is the result. */
const binary = (...args) => [
  "const { spawnSync } = await import('node:child_process');",
  "const { createRequire } = await import('node:module');",
  "const manifest = createRequire(import.meta.url).resolve('leasehold/package.json');",
  "const { bin } = createRequire(import.meta.url)('leasehold/package.json');",
  `const words = [new URL(bin.leasehold, 'file://' + manifest).pathname, ...${JSON.stringify(args)}];`,
  `const { stdout } = spawnSync(process.execPath, words, { env: { ...process.env, TOKEN: '${SECRET}' } });`,
  'const results = [JSON.parse(stdout)];',
];
const HIDDEN = [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64').replace(/=+$/, '')];
/** What it starts leaves its session, and holds its pipes. */
const ESCAPE = 'setsid sleep 30 &';

export const PROGRAM_CASES = [
  broken(
    'aborts its process',
    body('process.abort();'),
    { ...failed('ISOLATE_EXITED'), end: 'quarantined', signal: 'SIGABRT' },
    { isolation: 'process' },
  ),
  broken(
    'blocks in a read of a FIFO, in a process',
    `import { execFileSync } from 'node:child_process';\nimport { readFileSync } from 'node:fs';
    ${body("execFileSync('mkfifo', ['fifo']); return readFileSync('fifo');")}`,
    { ...TIMED_OUT, finding: 'killed' },
    { isolation: 'process' },
  ),
  builtIn('ends, and leaves a process that holds its pipe', 'shellTool', program('sleep 30 & echo started'), {
    status: 'succeeded',
    code: null,
    end: 'completed',
    finding: 'orphans-killed',
    holder: 'sleep',
  }),
  builtIn('hangs with a grandchild holding the pipe', 'shellTool', program(`${ESCAPE} sleep 30`), {
    ...{ ...TIMED_OUT, end: 'completed' },
    ...{ finding: 'orphans-killed', holder: 'sleep', signal: 'SIGTERM' },
  }),
  builtIn('ignores TERM', 'shellTool', program('trap "" TERM; sleep 30; :'), { ...TIMED_OUT, signal: 'SIGKILL' }),
  builtIn(
    'crashes by a signal',
    'processTool',
    "file: 'sh', args: () => ['-c', 'kill -SEGV $$'], input: z.any(), effects: 'opaque'",
    {
      ...failed('EXIT_CODE'),
      signal: 'SIGSEGV',
    },
  ),
  builtIn(
    'is a program that is missing',
    'processTool',
    "file: 'no-such-program', args: () => [], input: z.any(), effects: 'opaque'",
    failed('SPAWN_FAILED'),
  ),
  builtIn('reads a FIFO by the file tool', 'readFileTool', "root: '.'", failed('TOOL_ERROR'), {
    before: ["(await import('node:child_process')).execFileSync('mkfifo', ['fifo']);"],
    act: "const results = [await supervisor.runTool(broken, { path: 'fifo' })];",
  }),
  builtIn(
    'asks a server that never answers',
    'httpTool',
    "input: z.any(), request: () => ({ method: 'POST', url: 'http://127.0.0.1:' + server.address().port })",
    { status: 'indeterminate', code: 'INDETERMINATE' },
    {
      before: [
        "const server = (await import('node:http')).createServer(() => {}).listen(0, '127.0.0.1');",
        "await new Promise((listening) => server.once('listening', listening));",
      ],
      act: [ONCE, 'server.close();'],
    },
  ),
  broken(
    'is refused by its authorizer',
    body('return 1;'),
    { status: 'denied', code: 'DENIED' },
    { options: "authorize: ({ tool }) => (tool === 'sound' ? { allow: true } : { allow: false })," },
  ),
  broken(
    'has an authorizer that almost says yes',
    body('return 1;'),
    { status: 'denied', code: 'AUTHORIZER_FAILED' },
    { options: "authorize: ({ tool }) => (tool === 'sound' ? { allow: true } : { allow: 'yes' })," },
  ),
  builtIn(
    'tells its secret in every way',
    'shellTool',
    `${program('echo "$1"; echo "$1" >&2; printf %s "$1" | base64; echo "$1" | head -c 9; exit 3')}, args: (token) => [token], secrets: (token) => [token]`,
    { ...failed('EXIT_CODE'), hides: HIDDEN },
    { act: `const results = [await supervisor.runTool(broken, '${SECRET}', { labels: { from: '${SECRET}' } })];` },
  ),
  broken(
    'is a command of the binary that hangs',
    null,
    { ...TIMED_OUT, end: 'completed', finding: 'orphans-killed', holder: 'sleep' },
    {
      act: binary(
        'exec',
        '--json',
        '--effects',
        'none',
        '--run-timeout',
        '300',
        '--',
        'sh',
        '-c',
        `${ESCAPE} sleep 30`,
      ),
    },
  ),
  broken(
    'is a command of the binary that tells a secret',
    null,
    { status: 'succeeded', code: null, hides: HIDDEN },
    { act: binary('exec', '--json', '--secret-env', 'TOKEN', '--', 'sh', '-c', 'echo "$TOKEN"; echo "$TOKEN" >&2') },
  ),
];
