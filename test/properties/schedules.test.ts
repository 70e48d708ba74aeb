/**
 * For any schedule of submits, cancels, faults and closes: one end each, no idle isolate beside a waiting lease, nothing
 * left.
 *
 * Invariant: time and threads are fake, so a seed replays its schedule. Deliberately absent: what a single status means
 * (`promises/precedence.test.ts`).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunResult } from '../../src/model/result.ts';
import { runResultSchema } from '../../src/model/run-result-schema.ts';
import { type Behaviour, obedientFar, STOPPED, type Step, schedule, TRUTHS } from '../support/arbitraries.ts';
import { settle } from '../support/fake-clock.ts';
import { closeFake, fakeTool, openFakeHost } from '../support/fake-host.ts';

const VERBOSE = { verbose: fc.VerbosityLevel.Verbose } as const;
type Host = Awaited<ReturnType<typeof openFakeHost>>;

class Play {
  readonly results: { behaviour: Behaviour; result: RunResult }[] = [];
  submitted = 0;
  readonly #controllers: AbortController[] = [];
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
    if (queue.depth > 0 && leased < this.#isolates) expect(isolates.idle).toBe(0);
    for (const tenure of this.#host.tenures.all) expect(tenure.overlaps).toBe(0);
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
    for (const { behaviour, result } of this.results) {
      expect(runResultSchema.safeParse(result).error?.issues ?? []).toEqual([]);
      // An isolate killed from outside fails its run, whatever the tool meant to do.
      const outside = result.error?.code === 'ERR_LEASEHOLD_ISOLATE_EXITED' ? ['failed'] : [];
      expect([...TRUTHS[behaviour], ...STOPPED, ...outside], JSON.stringify(result)).toContain(result.status);
      if (result.status === 'succeeded') expect(result.value).toBe('done');
      const own = events.filter((event) => 'requestId' in event && event.requestId === result.request.id);
      const count = (type: string) => own.filter((event) => event.type === type).length;
      expect({ started: count('request.started'), ended: count('request.ended') }).toEqual({ started: 1, ended: 1 });
      expect(own.at(-1)?.type).toBe('request.ended');
    }
    expect(supervisor.statistics().state).toBe('closed');
    expect(clock.pending).toBe(0);
    expect(tenures.alive).toEqual([]);
    expect(tenures.all.filter((tenure) => !tenure.closed || !tenure.exit)).toEqual([]);
  }

  #submit(step: Extract<Step, { do: 'submit' }>): void {
    const controller = new AbortController();
    this.#controllers.push(controller);
    this.submitted += 1;
    const { behaviour, runTimeoutMs, operationTimeoutMs } = step;
    void this.#host.supervisor
      .runTool(fakeTool(), behaviour, { signal: controller.signal, runTimeoutMs, operationTimeoutMs })
      .then((result) => this.results.push({ behaviour, result }));
  }
}

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
      { ...VERBOSE, numRuns: 300 },
    );
  });

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
      { ...VERBOSE, numRuns: 150 },
    );
  });

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
