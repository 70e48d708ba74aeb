/**
 * For any schedule of submits, cancels, faults and closes: one end each, no idle isolate beside a waiting lease, nothing
 * left.
 *
 * Invariant: time and threads are fake, so a seed replays its schedule. Deliberately absent: what a single status means
 * (`promises/precedence.test.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Repair } from '../../src/model/control-shapes.ts';
import { defineTool } from '../../src/model/define-tool.ts';
import type { RunResult } from '../../src/model/result.ts';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { type Behaviour, obedientFar, STOPPED, type Step, schedule, TRUTHS } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

const VERBOSE = { verbose: fc.VerbosityLevel.Verbose } as const;
type Host = Awaited<ReturnType<typeof openFakeHost>>;

class Play {
  readonly results: { behaviour: Behaviour; picky: boolean; result: RunResult }[] = [];
  submitted = 0;
  readonly #controllers: AbortController[] = [];
  readonly #paused = new Set<string>();
  #heard = 0;
  readonly #host: Host;
  readonly #isolates: number;

  constructor(host: Host, isolates: number) {
    this.#host = host;
    this.#isolates = isolates;
  }

  step(step: Step): void {
    if (step.do === 'submit') this.#submit(step);
    if (step.do === 'cancel') this.#controllers[step.index]?.abort(new Error('enough'));
    if (step.do === 'close') void this.#host.supervisor.close({ withinMs: step.withinMs });
    if (step.do === 'kill-idle') this.#host.tenures.alive[step.index]?.die({ code: 1, error: null });
  }

  async walk(step: Step): Promise<void> {
    this.step(step);
    await settle();
    if (step.do === 'advance') await this.#host.clock.advance(step.ms);
    this.check();
  }

  check(): void {
    const { isolates, queue } = this.#host.supervisor.statistics();
    const leased = isolates.leased + isolates.resetting;
    expect(leased).toBeLessThanOrEqual(this.#isolates);
    if (queue.depth > this.#pausing() && leased < this.#isolates) expect(isolates.idle).toBe(0);
    for (const tenure of this.#host.tenures.all) expect(tenure.overlaps).toBe(0);
  }

  /** How many are in a backoff: they hold a place in the queue, and are not in line. */
  #pausing(): number {
    const { events } = this.#host;
    for (; this.#heard < events.length; this.#heard += 1) {
      const event = events[this.#heard];
      if (event === undefined || !('requestId' in event)) continue;
      if (event.type === 'attempt.ended') this.#paused.add(event.requestId);
      if (event.type === 'lease.queued' || event.type === 'request.ended') this.#paused.delete(event.requestId);
    }
    return this.#paused.size;
  }

  /** Walks to the end of everything, then closes. */
  async end(): Promise<void> {
    for (let turns = 0; this.results.length < this.submitted && turns < 2_000; turns += 1) {
      await settle();
      if (this.results.length < this.submitted && !(await this.#host.clock.step())) break;
      this.check();
    }
    await closeFake(this.#host);
    while (await this.#host.clock.step()) await settle();
  }

  expectTruth(): void {
    const { events, tenures, clock, supervisor } = this.#host;
    expect(this.results).toHaveLength(this.submitted);
    const ids = new Set(this.results.map(({ result }) => result.request.id));
    expect(ids.size).toBe(this.submitted);
    for (const { behaviour, picky, result } of this.results) {
      expect(runResultSchema.safeParse(result).error?.issues ?? []).toEqual([]);
      // An isolate killed from outside fails its run, whatever the tool meant to do.
      const outside = result.error?.code === 'ERR_LEASEHOLD_ISOLATE_EXITED' ? ['failed'] : [];
      const truths = picky ? ['failed'] : TRUTHS[behaviour];
      expect([...truths, ...STOPPED, ...outside], JSON.stringify(result)).toContain(result.status);
      expect(result.request.attempts.map(({ number }) => number)).toEqual(
        result.request.attempts.map((_, at) => at + 1),
      );
      if (result.status === 'succeeded') expect(result.value).toBe('done');
      const own = events.filter((event) => 'requestId' in event && event.requestId === result.request.id);
      const count = (type: string) => own.filter((event) => event.type === type).length;
      expect({ started: count('request.started'), ended: count('request.ended') }).toEqual({ started: 1, ended: 1 });
      expect(own.at(-1)?.type).toBe('request.ended');
      expect(count('attempt.ended')).toBe(result.request.attempts.length);
    }
    expect(supervisor.statistics().state).toBe('closed');
    expect(clock.pending).toBe(0);
    expect(tenures.alive).toEqual([]);
    expect(tenures.all.filter((tenure) => !tenure.closed || !tenure.exit)).toEqual([]);
  }

  #submit({ behaviour, runTimeoutMs, operationTimeoutMs, attempts, repair, observer }: Submit): void {
    const controller = new AbortController();
    this.#controllers.push(controller);
    this.submitted += 1;
    const onEvent = ({ type }: { type: string }) => {
      if (observer === 'throws') throw new Error('deaf');
      if (observer === 'cancels' && type === 'attempt.ended') controller.abort(new Error('seen enough'));
    };
    const controls = {
      retry: { attempts, backoff: { initialMs: 20, jitter: 'none' }, when: () => true },
      ...(repair === null ? {} : { repair: this.#repairs(repair) }),
      ...(observer === 'none' ? {} : { observers: [{ onEvent }] }),
    } as const;
    void this.#host.supervisor
      .runTool(repair === null ? fakeTool() : picky, behaviour, {
        signal: controller.signal,
        runTimeoutMs,
        operationTimeoutMs,
        ...controls,
      })
      .then((result) => this.results.push({ behaviour, picky: repair !== null, result }));
  }

  #repairs(how: NonNullable<Submit['repair']>): Repair {
    if (how === 'at once') return () => 'value';
    if (how === 'never') return () => new Promise(() => {});
    const { clock } = this.#host;
    return () => new Promise((resolve) => void clock.setTimeout(() => resolve('hang'), 30));
  }
}

type Submit = Extract<Step, { do: 'submit' }>;

/** Accepts no value that any behaviour gives. */
const picky = defineTool({
  name: 'picky',
  module: 'file:///fake/tool.mjs',
  input: z.unknown(),
  output: z.literal('never given'),
  effects: 'none',
});

const options = (isolates: number) => ({
  isolates,
  share: 'any' as const,
  queue: { capacity: 6 },
  defaults: { graceMs: 50, killMs: 50 },
});

describe('a supervisor', () => {
  it('for any schedule, ends each request once and keeps nothing', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, fc.integer({ min: 1, max: 3 }), async (steps, isolates) => {
        const host = await openFakeHost(obedientFar, options(isolates));
        const play = new Play(host, isolates);
        for (const step of steps) await play.walk(step);
        await play.end();
        play.expectTruth();
      }),
      { ...VERBOSE, numRuns: 10_000 },
    );
  }, 300_000);

  it('for any order of deliveries, ends each request once and keeps nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), schedule, fc.integer({ min: 1, max: 2 }), async (scheduler, steps, isolates) => {
        const deliver = (fire: () => void) => void scheduler.schedule(Promise.resolve()).then(fire);
        const host = await openFakeHost({ ...obedientFar, schedule: deliver }, options(isolates));
        const play = new Play(host, isolates);
        for (const step of steps) {
          play.step(step);
          if (step.do === 'advance') await host.clock.advance(step.ms);
          else if (scheduler.count() > 0) await scheduler.waitNext(1);
          play.check();
        }
        for (let turns = 0; play.results.length < play.submitted && turns < 2_000; turns += 1) {
          while (scheduler.count() > 0) await scheduler.waitNext(1);
          await settle();
          if (scheduler.count() === 0 && !(await host.clock.step())) break;
        }
        let closed = false;
        const closing = host.supervisor.close({ withinMs: 60_000 }).then(() => {
          closed = true;
        });
        for (let turns = 0; (!closed || scheduler.count() > 0) && turns < 2_000; turns += 1) {
          await settle();
          if (scheduler.count() > 0) await scheduler.waitNext(1);
          else if (!closed && !(await host.clock.step())) break;
        }
        await closing;
        while (await host.clock.step()) await settle();
        play.expectTruth();
      }),
      { ...VERBOSE, numRuns: 1_000 },
    );
  }, 300_000);

  it('for any number of threads that will not die, closes within its bound and says so', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 }), async (hung, isolates) => {
        const host = await openFakeHost(
          { dies: (tenure) => tenure.runs === 0 },
          { ...options(isolates), maxAbandoned: 4 },
        );
        const ends: RunResult[] = [];
        for (let run = 0; run < hung; run += 1) {
          void host.supervisor.runTool(fakeTool(), 'hang', { runTimeoutMs: 10 }).then((result) => ends.push(result));
        }
        await host.clock.advance(1_000);
        const closing = host.supervisor.close({ withinMs: 500 });
        await host.clock.advance(600);
        const report = await closing;
        expect(ends).toHaveLength(hung);
        const ran = host.tenures.all.filter((tenure) => tenure.runs > 0);
        expect(report.abandoned).toHaveLength(ran.length);
        for (const tenure of ran) tenure.die({ code: 1, error: null });
        await settle();
        expect(host.clock.pending).toBe(0);
      }),
      { ...VERBOSE, numRuns: 30 },
    );
  });
});
