// Question: what does a log cost that outlives its host: in entries per second, in delay of the host's loop, and per run?
//
// Entries are those of attempts with one effect: each is awaited before the next of its attempt, 128 attempts at once. One commit
// per entry is what a log does that knows nothing of turns: the same rows, driver and settings, FULL read back, without us.
// What would change our minds: less than 10 times its rate in the same run, or a loop that is held for 10 ms at the 99th percent.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { createSupervisor, defineTool, memoryEventLog, unwrap } from 'leasehold';
import { sqliteEventLog } from 'leasehold/sqlite';
import { z } from 'zod';
import { median, timed } from './support/rounds.mjs';

const AT_ONCE = 128;
const KINDS = ['prepared', 'admitted', 'dispatched', 'settled', 'closed'];
const BODY = { tool: 'pay', key: 'k'.repeat(64), onAmbiguous: 'hold', text: 'x'.repeat(150) };
const names = { tenant: 'acme', run: 'r-1', branch: 'main', attempt: 1 };

let made = 0;
const entry = (requestId, kind) => ({
  ...names,
  requestId,
  kind,
  intent: kind === 'dispatched' || kind === 'settled' ? 'charge' : '',
  atWall: 0,
  body: kind === 'settled' ? { state: 'applied' } : BODY,
});

async function attempt(log) {
  made += 1;
  const requestId = `req-${made}`;
  for (const kind of KINDS) await log.append(entry(requestId, kind));
}

async function keepAtOnce(width, count, work) {
  let left = count;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** A table of its own, and a commit for each entry. */
function oneByOne(file) {
  const node = process.getBuiltinModule('node:sqlite');
  const Better = node === undefined ? createRequire(import.meta.url)('better-sqlite3') : null;
  const database = Better === null ? new node.DatabaseSync(file) : new Better(file);
  for (const pragma of ['journal_mode = WAL', 'locking_mode = EXCLUSIVE', 'synchronous = FULL'])
    database.exec(`PRAGMA ${pragma}`);
  database.exec('CREATE TABLE events (seq INTEGER PRIMARY KEY, request TEXT, kind TEXT, intent TEXT, body TEXT)');
  const insert = database.prepare('INSERT INTO events (request, kind, intent, body) VALUES (?, ?, ?, ?)');
  if (Object.values(database.prepare('PRAGMA synchronous').get())[0] !== 2) throw new Error('it is not FULL');
  return {
    append: ({ requestId, kind, intent, body }) => void insert.run(requestId, kind, intent, JSON.stringify(body)),
    close: () => database.close(),
  };
}

/** Milliseconds of delay at the 99th percent while `work` goes on. */
async function delayOf(work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  delay.disable();
  return delay.percentile(99) / 1e6;
}

const tool = defineTool({
  name: 'add',
  module: new URL('./support/tasks.mjs', import.meta.url),
  exportName: 'add',
  input: z.object({ a: z.number(), b: z.number() }),
  effects: 'opaque',
});

export const question = {
  name: 'durable',
  title: '(i) What a log costs that outlives its host',
  keeps: 'durable',
  async measure({ smoke }) {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-durable-'));
    const [attempts, runs, rounds] = smoke ? [256, 256, 2] : [5_000, 2_000, 7];
    const log = await sqliteEventLog({ file: join(folder, 'log.db') });
    const naive = oneByOne(join(folder, 'naive.db'));
    const stores = { memory: memoryEventLog(), SQLite: await sqliteEventLog({ file: join(folder, 'runs.db') }) };
    const supervisors = Object.entries(stores).map(([name, eventLog]) => ({
      name,
      eventLog,
      supervisor: createSupervisor({ isolates: 2, eventLog, queue: { capacity: 10_000 } }),
    }));
    const figures = {
      'entries/s, one commit a turn': [],
      'entries/s, one commit each': [],
      'loop delay p99, ms, entries': [],
      'loop delay p99, ms, runs': [],
      'loop delay p99, ms, nothing to do': [],
    };
    const add = (name, figure) => {
      figures[name] ??= [];
      figures[name].push(figure);
    };
    try {
      for (const { supervisor } of supervisors) await supervisor.untilReady();
      for (let round = 0; round < rounds; round += 1) {
        let delay = 0;
        const turns = await timed(async () => {
          delay = await delayOf(() => keepAtOnce(AT_ONCE, attempts, () => attempt(log)));
        });
        add('entries/s, one commit a turn', (attempts * KINDS.length * 1_000) / turns);
        add('loop delay p99, ms, entries', delay);
        // What this machine, busy with other things, takes by itself.
        add('loop delay p99, ms, nothing to do', await delayOf(() => pause(turns)));
        const few = Math.ceil(attempts / 20);
        const each = await timed(() => keepAtOnce(AT_ONCE, few, () => attempt(naive)));
        add('entries/s, one commit each', (few * KINDS.length * 1_000) / each);
        for (const { name, supervisor } of supervisors) {
          const run = async () => unwrap(await supervisor.runTool(tool, { a: 1, b: 2 }));
          const loaded = async () => {
            const ms = await timed(() => keepAtOnce(AT_ONCE, runs, run));
            add(`runs/s, ${AT_ONCE} at once, ${name}`, (runs * 1_000) / ms);
          };
          if (name === 'memory') await loaded();
          else add('loop delay p99, ms, runs', await delayOf(loaded));
          const alone = await timed(() => keepAtOnce(1, runs / 8, run));
          add(`µs a run, one at a time, ${name}`, (alone * 1_000) / (runs / 8));
        }
      }
    } finally {
      for (const { supervisor, eventLog } of supervisors) {
        await supervisor.close();
        await eventLog.close?.();
      }
      await log.close();
      naive.close();
      rmSync(folder, { recursive: true });
    }
    return [{ variant: `${AT_ONCE} at once, FULL`, figures }];
  },
  print([{ variant, figures }]) {
    console.log(`\n${question.title}\n  ${variant}`);
    for (const [name, raw] of Object.entries(figures)) {
      const range = `${short(Math.min(...raw))} to ${short(Math.max(...raw))}`;
      console.log(`    ${name.padEnd(38)} ${short(median(raw)).padStart(10)}   ${range}`);
    }
    for (const line of question.verdicts([{ figures }])) console.log(`  ${line}`);
  },
  verdicts([{ figures }]) {
    const of = (name) => median(figures[name]);
    const ratio = of('entries/s, one commit a turn') / of('entries/s, one commit each');
    const delay = of('loop delay p99, ms, entries');
    return [
      `target: one commit a turn: at least 10 x one commit each: ${ratio.toFixed(1)}: ${ratio >= 10 ? 'met' : 'MISSED'}`,
      `target: loop delay p99 while it does: below 10 ms: ${delay.toFixed(1)}: ${delay < 10 ? 'met' : 'MISSED'}`,
    ];
  },
};

function short(figure) {
  if (figure >= 1_000) return Math.round(figure).toLocaleString('en-US');
  return figure >= 10 ? figure.toFixed(1) : figure.toFixed(2);
}
