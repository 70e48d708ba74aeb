// A plugin host: an HTTP server whose answers come from plugins that it does not trust to end.
//
//   node examples/plugin-host/plugin-host.mjs
//
// GET /upper?text=hello   a plugin that behaves
// GET /stuck              a plugin that hangs: 504 after its deadline, and the server goes on
import { createServer } from 'node:http';
import { createSupervisor, defineTool } from 'leasehold';
import { z } from 'zod';

const HTTP_STATUS = { succeeded: 200, rejected: 503, interrupted: 503, 'timed-out': 504, cancelled: 499 };

const plugin = (name) =>
  defineTool({
    name,
    module: new URL(`./plugins/${name}.mjs`, import.meta.url),
    input: z.object({ text: z.string().max(10_000).default('') }),
    output: z.string(),
    effects: 'none',
    runTimeoutMs: 300,
    graceMs: 50,
  });
const plugins = new Map(['upper', 'stuck'].map((name) => [`/${name}`, plugin(name)]));

const supervisor = createSupervisor({ isolates: 2, queue: { capacity: 100 } });
await supervisor.untilReady();

async function answer(request, response) {
  const url = new URL(request.url, 'http://localhost');
  const tool = plugins.get(url.pathname);
  if (!tool) return response.writeHead(404).end('no such plugin\n');

  // A visitor who hangs up cancels the run: nobody waits for the answer any more.
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const result = await supervisor.runTool(tool, { text: url.searchParams.get('text') ?? '' }, { signal: gone.signal });
  return response.writeHead(HTTP_STATUS[result.status] ?? 500).end(`${result.value ?? result.status}\n`);
}

// `runTool` resolves for every way a request can end, so `answer` does not reject.
const server = createServer((request, response) => void answer(request, response));
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const base = `http://127.0.0.1:${server.address().port}`;

// Ten visitors at once, one of them for the plugin that hangs.
const paths = ['/stuck', ...Array.from({ length: 9 }, (_, index) => `/upper?text=visitor%20${index + 1}`)];
const answers = await Promise.all(
  paths.map(async (path) => {
    const answer = await fetch(base + path, { headers: { connection: 'close' } });
    return `${answer.status} ${(await answer.text()).trim()}`;
  }),
);
for (const [index, answer] of answers.entries()) console.log(`${paths[index]} -> ${answer}`);

server.close();
await supervisor.close();
