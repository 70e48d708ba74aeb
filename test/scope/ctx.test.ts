/** Ctx: frozen, explicit, and lazy in what most never ask for. */
import { describe, expect, it } from 'vitest';
import { BOUND_MS, scopeRig } from './scope-rig.ts';

describe('Ctx', () => {
  it('is frozen, and names tenant, run and branch', () => {
    const { ctx } = scopeRig().open({ tenant: 'acme', run: 'r-1', branch: 'b' });
    expect(Object.isFrozen(ctx)).toBe(true);
    expect([ctx.tenant, ctx.run, ctx.branch]).toEqual(['acme', 'r-1', 'b']);
  });

  it('has a run of its own when none is named', () => {
    const { open } = scopeRig();
    expect(open().ctx.run).not.toBe(open().ctx.run);
  });

  it('makes one trace, once', () => {
    const { ctx } = scopeRig().open();
    expect(ctx.trace).toBe(ctx.trace);
    expect(scopeRig().open().ctx.trace.traceparent).not.toBe(ctx.trace.traceparent);
  });

  it('keeps the trace it is given, also in forks', () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'k=v' };
    const scope = scopeRig().open({ trace });
    expect(scope.ctx.trace).toEqual(trace);
    expect(scope.fork().ctx.trace).toEqual(trace);
  });

  it('is forever without a deadline', () => {
    const { ctx } = scopeRig().open();
    expect([ctx.deadline.scope, ctx.deadline.remainingMs()]).toEqual([null, Number.POSITIVE_INFINITY]);
  });

  it('tells what remains, not below zero', () => {
    const { clock, open } = scopeRig();
    const scope = open({ deadlineMs: 50 });
    const { deadline } = scope.ctx;
    clock.jump(30);
    expect([deadline.scope, deadline.remainingMs()]).toEqual([scope.id, 20]);
    clock.jump(30);
    expect(deadline.remainingMs()).toBe(0);
  });

  it('arms no timer until somebody asks for the signal', () => {
    const { clock, open } = scopeRig();
    const { ctx } = open({ deadlineMs: BOUND_MS });
    expect(clock.pending).toBe(0);
    expect(ctx.signal).toBe(ctx.signal);
    expect(clock.pending).toBe(1);
  });

  it('hands on the stores of its supervisor', () => {
    const { host, open } = scopeRig();
    const { ctx } = open();
    expect([ctx.eventLog, ctx.blobs]).toEqual([host.eventLog, host.blobs]);
  });
});
