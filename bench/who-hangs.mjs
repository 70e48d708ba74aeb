// Question: whose promise settles when a process outlives the command, and is anything left of the run by then?
//
// A command that leaves a process behind keeps its pipes open; a runner that waits for their end waits for that process. Each
// call has a host of its own and is watched for so many seconds; a leak is a process of the run that lives when it settles.
// What would change our minds: one of our cells that is pending, leaks, or does not name who held the pipe.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { endMarked, marked } from './support/marked-processes.mjs';

const HOST = fileURLToPath(new URL('./support/hang-host.mjs', import.meta.url));
const RUNNERS = ['execFile', 'execa', 'tinyexec', 'nano-spawn', 'processTool', 'shellTool'];
/** What outlives the command lives for 45 s, longer than anybody watches. */
const SCENARIOS = {
  orphan: { script: 'sleep 45 & exit 0', isTimed: false },
  orphanT: { script: 'sleep 45 & exit 0', isTimed: true },
  wait: { script: 'sleep 45 & wait', isTimed: true },
  ignore: { script: 'trap "" TERM; sleep 45; exit 0', isTimed: true },
  setsid: { script: 'setsid sleep 45 & wait', isTimed: true },
  setsidw: {
    script: `setsid sh -c 'i=0; while [ $i -lt 450 ]; do echo $i; i=$((i+1)); sleep 0.1; done' & wait`,
    isTimed: true,
  },
};

/** Resolves with `{ settledMs, how, holders, leaks }`, `settledMs` null when it was pending to the end. */
function call(runner, scenario, { timeoutMs, watchMs }) {
  const { script, isTimed } = SCENARIOS[scenario];
  const run = randomUUID();
  const mark = `HANG_RUN=${run}`;
  const host = spawn(process.execPath, [HOST, runner, script, String(isTimed ? timeoutMs : 0)], {
    env: { ...process.env, HANG_RUN: run },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(host, 'exit');
  const lines = createInterface(host.stdout)[Symbol.asyncIterator]();
  const others = () => marked(mark).filter(({ pid }) => pid !== host.pid);
  const ready = lines.next();

  const settled = (async () => {
    await ready;
    host.stdin.end('go\n');
    const { value, done } = await lines.next();
    if (done) return { settledMs: null, how: 'host died', holders: [], leaks: [] };
    // What it says is read a moment after it settled: who is on the way out has gone by then, in favour of every runner.
    const leaks = others().map(({ name }) => name);
    const { ms, how, holders = [], boundMs = null, worstCaseStopMs = null } = JSON.parse(value);
    return { settledMs: ms, how, holders, leaks, boundMs, worstCaseStopMs };
  })();

  const watch = new AbortController();
  const watched = ready
    .then(() => pause(watchMs, null, { signal: watch.signal }))
    .then(() => ({
      settledMs: null,
      how: `pending ${watchMs / 1_000} s`,
      holders: [],
      leaks: others().map(({ name }) => name),
    }))
    .catch(() => settled);
  const answer = Promise.race([settled, watched]).then(async (cell) => {
    watch.abort();
    host.kill('SIGKILL');
    await exited;
    endMarked(mark);
    return { runner, scenario, ...cell };
  });
  return { settled, answer };
}

export const question = {
  name: 'who-hangs',
  title: '(h) Who hangs when a process outlives its command',
  /** No race: it keeps a file of its own. */
  keeps: 'who-hangs',
  async measure({ smoke }) {
    if (process.platform !== 'linux') return [];
    const spans = smoke
      ? { timeoutMs: 300, watchMs: 2_000, aloneMs: 0 }
      : { timeoutMs: 1_000, watchMs: 20_000, aloneMs: 2_500 };
    const scenarios = smoke ? ['orphan', 'setsid'] : Object.keys(SCENARIOS);
    const runners = smoke ? RUNNERS.filter((name) => name !== 'processTool') : RUNNERS;
    const answers = [];
    for (const scenario of scenarios) {
      for (const runner of runners) {
        const { settled, answer } = call(runner, scenario, spans);
        answers.push(answer);
        // Those that hang are watched in the background: they do nothing, and would take an hour one after the other.
        await Promise.race([settled, answer, pause(spans.aloneMs)]);
      }
    }
    return Promise.all(answers);
  },
  print(cells) {
    console.log(`\n${this.title} [when it settled, how, and what lived on]`);
    if (cells.length === 0) return console.log('  not on this platform');
    const scenarios = [...new Set(cells.map(({ scenario }) => scenario))];
    for (const scenario of scenarios) {
      console.log(`  ${scenario}`);
      for (const cell of cells.filter((one) => one.scenario === scenario)) console.log(`    ${words(cell)}`);
    }
    for (const line of this.verdicts(cells)) console.log(`  ${line}`);
  },
  verdicts(cells) {
    const ours = cells.filter(({ runner }) => runner.endsWith('Tool'));
    const settled = ours.every(({ settledMs, leaks }) => settledMs !== null && leaks.length === 0);
    const outlives = (scenario) => /^(orphan|setsid)/.test(scenario);
    const named = ours.every(({ scenario, holders }) => !outlives(scenario) || holders.length > 0);
    return [
      `target: every run of ours settles and leaves nothing: ${settled ? 'met' : 'MISSED'}`,
      `target: who held a pipe is named: ${named ? 'met' : 'MISSED'}`,
    ];
  },
};

function words({ runner, settledMs, how, holders, leaks }) {
  const when = settledMs === null ? how : `${(settledMs / 1_000).toFixed(2)} s ${how}`;
  const counted = leaks.length > 3 ? `${leaks.length} processes` : leaks.join(', ');
  const lives = leaks.length === 0 ? '' : settledMs === null ? `   alive: ${counted}` : `   LEAK: ${counted}`;
  const held = holders.length === 0 ? '' : `   pipe held by ${holders.join(', ')}`;
  return `${runner.padEnd(14)}${when.padEnd(26)}${lives}${held}`;
}
