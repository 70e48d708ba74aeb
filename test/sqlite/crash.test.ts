/** A writer killed at any instant: what it acknowledged is there, whole and in order; and a writer that only sleeps keeps its lock. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LogEvent } from '../../src/model/stores.ts';
import { openForReading } from '../../src/sqlite/open-event-log.ts';
import { all, code } from '../record/event-log-contract.ts';
import { DRIVERS, logFile, opened } from './sqlite-rig.ts';

const PROGRAM = fileURLToPath(new URL('../fixtures/programs/log-writer.mjs', import.meta.url));
const LIBRARY = new URL('../../dist/src/sqlite/index.js', import.meta.url).href;

interface Writer {
  readonly child: ChildProcess;
  readonly told: string[];
  /** Resolves once `count` lines match. */
  untilTold(pattern: RegExp, count: number): Promise<void>;
  kill(): Promise<void>;
}

function writer(file: string, driver: string, mode: 'append' | 'retain'): Writer {
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM, LIBRARY, file, driver, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const told: string[] = [];
  const lines: Interface = createInterface({ input: child.stdout });
  const checks = new Set<() => void>();
  lines.on('line', (line) => {
    told.push(line);
    for (const check of checks) check();
  });
  return {
    child,
    told,
    untilTold: (pattern, count) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (told.filter((line) => pattern.test(line)).length < count) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
        void ended.then(() => reject(new Error('the writer ended by itself')));
      }),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Each attempt in the log has all its entries up to its last. */
function expectWhole(events: readonly LogEvent[]): void {
  const next = new Map<string, number>();
  for (const { requestId, ord } of events) {
    expect(ord).toBe(next.get(requestId) ?? 0);
    next.set(requestId, ord + 1);
  }
}

describe.each(DRIVERS)('a writer on $name', (driver) => {
  it('killed while it appends, loses nothing it acknowledged', async () => {
    const file = logFile();
    const acknowledged = new Set<string>();
    for (const count of [1, 3, 9, 40, 41, 150, 333, 700]) {
      const { told, untilTold, kill } = writer(file, driver.name, 'append');
      await untilTold(/^\d/, count);
      await kill();
      const reader = await openForReading(file, { driver: driver.name });
      const seen = await all(reader.read());
      await reader.close();
      const { log } = await opened(driver, file);
      const events = await all(log.read());
      expect(seen).toEqual(events);
      expectWhole(events);
      const found = new Set(events.map(({ seq, requestId, kind }) => `${seq} ${requestId} ${kind}`));
      for (const line of told) if (/^\d+ \S+ \w+$/.test(line)) acknowledged.add(line);
      expect([...acknowledged].filter((line) => !found.has(line))).toEqual([]);
      await log.close();
    }
  });

  it('killed while it leaves old attempts out, leaves a whole log', async () => {
    const file = logFile();
    const over: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const { told, untilTold, kill } = writer(file, driver.name, 'retain');
      await untilTold(/^closed/, 1 + (round % 3));
      for (let turn = 0; turn < round * 40; turn += 1) await new Promise<void>((resume) => setImmediate(resume));
      await kill();
      over.push(...told.filter((line) => / closed$/.test(line)).map((line) => line.split(' ')[1] ?? ''));
      const { log } = await opened(driver, file);
      const events = await all(log.read());
      expectWhole(events);
      const closed = new Set(events.filter(({ kind }) => kind === 'closed').map(({ requestId }) => requestId));
      expect(over.slice(-20).filter((requestId) => !closed.has(requestId))).toEqual([]);
      await log.close();
    }
  });

  it('stopped in its sleep, holds its log until it is killed', async () => {
    const file = logFile();
    const { child, untilTold, kill } = writer(file, driver.name, 'append');
    await untilTold(/^\d/, 20);
    child.kill('SIGSTOP');
    await expect(opened(driver, file)).rejects.toThrow(code('LOG_LOCKED'));
    child.kill('SIGCONT');
    await untilTold(/^\d/, 500);
    await expect(opened(driver, file)).rejects.toThrow(code('LOG_LOCKED'));
    await kill();
    expect((await opened(driver, file)).log.health).toBe('writable');
  });
});
