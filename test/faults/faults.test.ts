/**
 * Every row of the fault matrix on one isolate, in a thread and in a process: the truth, within the bound, and nothing left.
 *
 * Invariant: one supervisor per row, so that no row can hide behind another. Another pool takes part by its adapter.
 * Deliberately absent: faults that need several calls (`fault-sequences.test.ts`).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FaultPoolOptions, fixture, type Isolation } from '../support/fault-adapter.ts';
import { type HostWatch, watchHost } from '../support/fault-watch.ts';
import { openWords } from '../support/fault-words.ts';
import { FAULT_CASES } from './fault-cases.ts';
import { rowIn } from './fault-row.ts';
import { leasehold } from './leasehold-adapter.ts';
import { PROCESS_CASES } from './process-cases.ts';

const OPTIONS: Omit<FaultPoolOptions, 'standby'> = {
  isolates: 1,
  graceMs: 100,
  killMs: 3_000,
  runTimeoutMs: 30_000,
  maxOldGenerationSizeMb: 64,
};
/** A process boots in the time of ten threads; `fault-sequences.test.ts` has spares of both kinds. */
const STANDBY = { thread: 1, process: 0 };
const ROWS = {
  thread: FAULT_CASES,
  process: [...FAULT_CASES, ...PROCESS_CASES],
};
/** What a busy machine may add to a bound. Milliseconds. */
const SLACK_MS = 1_500;
const CLOSE_MS = 3_000;

let watch: HostWatch;
beforeEach(() => {
  watch = watchHost();
});
afterEach(() => watch.stop());

const named = (isolation: Isolation) => ROWS[isolation].map((row) => [row.name, rowIn(isolation, row)] as const);

describe.each(leasehold.map((adapter) => [adapter.name, adapter] as const))('%s, given one that', (_pool, adapter) => {
  it.each(named(adapter.isolation))('%s', async (_, row) => {
    const {
      killMs = OPTIONS.killMs,
      maxOldGenerationSizeMb = OPTIONS.maxOldGenerationSizeMb,
      ...limits
    } = row.limits ?? {};
    const pool = await adapter.open({
      ...OPTIONS,
      standby: STANDBY[adapter.isolation],
      killMs,
      maxOldGenerationSizeMb,
    });
    const words = openWords(adapter.isolation);
    const scene = row.scene?.(words) ?? {};
    const running = pool.run({
      module: fixture(row.file),
      exportName: row.exportName,
      ...limits,
      ...('input' in scene && { input: scene.input }),
      ...(scene.transfer && { transfer: scene.transfer }),
      ...(scene.signal && { signal: scene.signal }),
    });
    const [settled] = await Promise.all([running, scene.play?.()]);
    const neighbours = [];
    for (const input of ['first', 'second']) {
      neighbours.push(await pool.run({ module: fixture('echo.mjs'), exportName: 'default', input }));
    }
    const report = await pool.close(CLOSE_MS);
    await scene.undo?.();
    words.close();

    const told = JSON.stringify({ ...settled, value: undefined, stdout: undefined });
    if (row.status !== 'any') {
      const { status, code } = settled;
      expect({ status, code }, told).toEqual({ status: row.status, code: row.code });
    }
    if (row.fate !== 'any') expect(settled.fate, told).toBe(row.fate);
    if ('value' in row) expect(settled.value).toBe(row.value);
    if (row.finding === null) expect(settled.findings).toEqual([]);
    else if (row.finding !== undefined) expect(settled.findings).toContain(row.finding);
    if (row.exit !== undefined) expect(settled.exit, told).toEqual(row.exit);
    if (row.says !== undefined) expect(settled.message).toMatch(row.says);
    if (row.stdoutBytes !== undefined) expect(settled.stdout.bytesRead).toBe(row.stdoutBytes);
    if (settled.stoppedForMs !== null) expect(settled.stoppedForMs).toBeLessThan(settled.boundMs + SLACK_MS);
    for (const { byteLength } of scene.transfer ?? []) expect(byteLength === 0).toBe(row.moves);

    expect(neighbours.map(({ status, value }) => ({ status, value }))).toEqual([
      { status: 'succeeded', value: { echo: 'first', threadId: expect.any(Number) } },
      { status: 'succeeded', value: { echo: 'second', threadId: expect.any(Number) } },
    ]);
    const shared = neighbours.some((neighbour) => neighbour.isolate === settled.isolate);
    if (row.fate !== 'any') expect(shared).toBe(row.fate === 'kept');

    if (row.fate !== 'any') expect(report.abandoned).toBe(row.fate === 'abandoned' ? 1 : 0);
    expect(await watch.untilQuiet()).toEqual([]);
    expect(watch.uncaught).toEqual([]);
  });
});
