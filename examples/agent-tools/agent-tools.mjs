// An agent's tools under one scope: a file, a shell script and an HTTP request, each asked about before it runs.
//
//   node examples/agent-tools/agent-tools.mjs            asks you; without a terminal every question is a no
//   node examples/agent-tools/agent-tools.mjs yes yes no  takes the answers in this order
//
// Offline: the model is a list of calls, and the service it publishes to is a server of this program.
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { createSupervisor } from 'leasehold';
import { httpTool, readFileTool, shellTool, writeFileTool } from 'leasehold/tools';
import { z } from 'zod';

const TOKEN = 'tok-9f8e7d6c5b4a3f2e1d0c';
const root = await mkdtemp(join(tmpdir(), 'agent-tools-'));
await writeFile(join(root, 'notes.txt'), 'A lease ends.\nA lease ends once.\nNothing is lost.\n');

let published = 0;
const service = createServer((request, response) => {
  if (request.headers.authorization !== `Bearer ${TOKEN}`) return response.writeHead(401).end();
  published += 1;
  return response.writeHead(201).end('published\n');
});
await new Promise((listening) => service.listen(0, '127.0.0.1', listening));
const address = `http://127.0.0.1:${service.address().port}/reports`;

const tools = {
  read: readFileTool({ name: 'read', root }),
  // What comes from the model is a positional parameter, never a part of the script.
  count: shellTool({
    name: 'count',
    script: 'echo "token: $TOKEN" >&2; grep -c -- "$1" notes.txt',
    args: ({ word }) => [word],
    input: z.object({ word: z.string() }),
    cwd: root,
    env: { set: { TOKEN } },
    effects: 'none',
  }),
  publish: httpTool({
    name: 'publish',
    input: z.object({ text: z.string().max(10_000) }),
    request: ({ text }) => ({
      method: 'POST',
      url: address,
      headers: { authorization: `Bearer ${TOKEN}` },
      body: text,
    }),
    okStatuses: [201],
  }),
  save: writeFileTool({ name: 'save', root }),
  remove: shellTool({
    name: 'remove',
    script: 'rm -- "$1"',
    args: ({ path }) => [path],
    input: z.object({ path: z.string() }),
    cwd: root,
    effects: 'opaque',
  }),
};

/** Answers given beforehand, or a person at the terminal; nobody is a no. */
const answers = process.argv.slice(2);
async function ask(question, signal) {
  if (answers.length > 0) return answers.shift();
  if (!process.stdin.isTTY) return 'no';
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(`${question} yes or no? `, { signal });
  } finally {
    terminal.close();
  }
}

const events = [];
const supervisor = createSupervisor({
  isolates: 1,
  standby: 0,
  redact: { values: [TOKEN] },
  defaults: { authorizeMs: 60_000 }, // a person needs longer than a program
  observers: [{ onEvent: (event) => events.push(event) }],
  // Whatever changes something outside is asked about. Anything but a clear yes is a no.
  authorize: async ({ tool, input, effects }, { signal }) => {
    if (effects === 'none') return { allow: true };
    const said = await ask(`${tool} ${JSON.stringify(input)}:`, signal);
    return said === 'yes' ? { allow: true } : { allow: false, reason: 'the user said no' };
  },
});

// What a model would ask for, one call after the other.
const calls = [
  ['read', { path: 'notes.txt' }, ({ bytes }) => `${bytes.length} bytes`],
  ['count', { word: 'lease' }, (_, { output }) => `${output.stdout.text.trim()} lines`],
  ['publish', { text: 'Two lines tell of leases.' }, ({ status }) => `HTTP ${status}`],
  ['save', { path: 'report.txt', content: 'Two lines.\n' }, ({ bytesWritten }) => `${bytesWritten} bytes`],
  ['remove', { path: 'notes.txt' }, () => 'gone'],
];
const scope = supervisor.openScope({ tenant: 'acme', run: 'agent-1', deadlineMs: 120_000 });
const results = [];
for (const [name, input, tell] of calls) {
  const result = await scope.runTool(tools[name], input);
  results.push(result);
  const effects = result.intents.map(({ name: effect, state }) => `; ${effect} ${state}`).join('');
  console.log(`${name}: ${result.status}, ${result.ok ? tell(result.value, result) : result.error.message}${effects}`);
}
await scope.shutdown();
await supervisor.close();
service.close();

// The script told its token on standard error. Results, events and log lines do not.
console.log(`stderr of count: ${results[1].output.stderr.text.trim()}`);
console.log(`the token shows: ${JSON.stringify([results, events]).includes(TOKEN)}`);
console.log(`published: ${published}; the notes are there: ${existsSync(join(root, 'notes.txt'))}`);
await rm(root, { recursive: true });
