/**
 * Hosts with real effects that are killed, one after the other, on one log; and what the log must say afterwards.
 *
 * Invariants: the seed decides what is asked for and when a host is killed, as far as time lets it; the effects are counted by
 * others than the log. Deliberately absent: how many kills, and on which drivers.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { RecoveryReport } from '../../src/model/recovery.ts';
import type { LogEvent } from '../../src/model/stores.ts';
import type { SqliteDriver } from '../../src/sqlite/driver.ts';
import { openForReading } from '../../src/sqlite/index.ts';
import { connection, logFile } from '../sqlite/sqlite-rig.ts';
import { living } from '../support/program-run.ts';

const PROGRAM = fileURLToPath(new URL('../fixtures/programs/durable-host.mjs', import.meta.url));

/** mulberry32, as in the host. */
export function seeded(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * n);
  };
}

/** A server that counts rows: who sent what is known here, whatever becomes of the sender. */
export async function counter(): Promise<{ readonly url: string; readonly rows: string[] }> {
  const rows: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      rows.push(text);
      response.end('ok');
    });
    request.on('error', () => undefined);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, rows };
}

export interface Scene {
  readonly log: string;
  readonly effects: string;
  readonly told: string;
  readonly pids: number[];
  /** Starts a host, and kills it after so many lines of its own and turns of the loop here. */
  killAfter(pattern: RegExp, lines: number, turns: number, seed: number): Promise<void>;
  start(seed: number, mode: 'work' | 'settle'): Host;
  /** Recovers for the last time, in a host that ends by itself. */
  settle(): Promise<RecoveryReport>;
}

export interface Host {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly ended: Promise<unknown>;
  until(pattern: RegExp, count: number): Promise<void>;
}

export function crashScene(driver: SqliteDriver, url: string): Scene {
  const log = logFile();
  const [effects, told] = [join(log, '..', 'effects'), join(log, '..', 'told')];
  const pids: number[] = [];
  const start = (seed: number, mode: 'work' | 'settle'): Host => {
    const args = ['--no-warnings', PROGRAM, log, driver.name, effects, url, told, String(seed), mode];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    if (child.pid !== undefined) pids.push(child.pid);
    const ended = once(child, 'close');
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const lines: string[] = [];
    const checks = new Set<() => void>();
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      for (const check of checks) check();
    });
    const until = (pattern: RegExp, count: number) =>
      new Promise<void>((resolve, reject) => {
        const check = (): void => {
          if (lines.filter((line) => pattern.test(line)).length < count) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
        void ended.then(() => reject(new Error(`the host ended by itself: ${lines.at(-1)}`)));
      });
    return { child, lines, ended, until };
  };
  return {
    log,
    effects,
    told,
    pids,
    start,
    async killAfter(pattern, count, turns, seed) {
      const host = start(seed, 'work');
      await host.until(pattern, count);
      for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resume) => setImmediate(resume));
      host.child.kill('SIGKILL');
      await host.ended;
    },
    async settle() {
      // A process of a killed host may have been let write: it ends when it sees that its host is gone.
      while (pids.some((pid) => living(`${pid}.`).length > 0))
        await new Promise<void>((resume) => setImmediate(resume));
      const { ended, lines } = start(0, 'settle');
      const [code] = (await ended) as [number];
      const line = lines.find((text) => text.startsWith('recovered ')) ?? '';
      if (code !== 0) throw new Error(`the last host ended with ${code}`);
      return JSON.parse(line.slice('recovered '.length)) as RecoveryReport;
    },
  };
}

export interface Verdicts {
  readonly integrity: unknown;
  /** Effects that happened and have no dispatched intent. */
  readonly unrecorded: string[];
  /** Effects that happened, of attempts that say they did not. */
  readonly denied: string[];
  /** Attempts without an end. */
  readonly open: string[];
  /** Runs that were told as succeeded and synced, and are something else in the log. */
  readonly forgotten: string[];
  readonly statuses: Record<string, number>;
  readonly effects: number;
  /** Of open intents that recovery decided: those that had happened, and those that had not. */
  readonly happened: number;
  readonly not: number;
}

const DENIALS = ['cancelled', 'timed-out', 'interrupted', 'rejected', 'denied'];

/** Reads the log and holds it against what really happened. Nobody may have it open. */
export async function judged(scene: Scene, driver: SqliteDriver, rows: readonly string[]): Promise<Verdicts> {
  const database = connection(driver, scene.log);
  const integrity = database.prepare('PRAGMA integrity_check').all();
  database.close();
  const reader = await openForReading(scene.log, { driver: driver.name });
  const attempts = new Map<string, LogEvent[]>();
  for await (const event of reader.read()) {
    const list = attempts.get(event.requestId) ?? [];
    attempts.set(event.requestId, [...list, event]);
  }
  await reader.close();
  const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []);
  const happened = [...linesOf(scene.effects), ...rows].map((line) => {
    const cut = line.indexOf(' ');
    return { line, requestId: line.slice(0, cut), intent: line.slice(cut + 1) };
  });
  const found = (requestId: string, kind: string, intent = '') =>
    attempts.get(requestId)?.find((event) => event.kind === kind && event.intent === intent);
  const statusOf = (requestId: string) => found(requestId, 'closed')?.body['status'];
  const says = ({ requestId, intent }: { requestId: string; intent: string }) => {
    const settled = found(requestId, 'settled', intent)?.body['state'];
    const known = settled ?? found(requestId, 'reconciled', intent)?.body['verdict'] ?? 'open';
    // An end that is known to be none, or a status that knows of no effect.
    return known === 'not-applied' || (known === 'open' && DENIALS.includes(String(statusOf(requestId))));
  };
  const statuses: Record<string, number> = {};
  for (const requestId of attempts.keys()) {
    const status = String(statusOf(requestId) ?? 'open');
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  const names = new Set(happened.map(({ line }) => line));
  const opened = [...attempts.values()].flat().filter(({ kind, requestId, intent }) => {
    return kind === 'dispatched' && found(requestId, 'settled', intent) === undefined;
  });
  const did = opened.filter(({ requestId, intent }) => names.has(`${requestId} ${intent}`)).length;
  return {
    integrity: Object.values(integrity[0] ?? {})[0],
    unrecorded: happened
      .filter(({ requestId, intent }) => found(requestId, 'dispatched', intent) === undefined)
      .map(({ line }) => line),
    denied: happened.filter(says).map(({ line, requestId }) => `${line} ${statusOf(requestId)}`),
    open: [...attempts.keys()].filter((requestId) => statusOf(requestId) === undefined),
    forgotten: linesOf(scene.told).filter((line) => {
      const [requestId = '', status, durability] = line.split(' ');
      return status === 'succeeded' && durability === 'synced' && statusOf(requestId) !== 'succeeded';
    }),
    statuses,
    effects: happened.length,
    happened: did,
    not: opened.length - did,
  };
}
