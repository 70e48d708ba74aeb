/** The abort of a caller's signal: heard once, with its reason in words, until nobody listens. */
import { describe, expect, it } from 'vitest';
import { Aborts } from '../../src/scope/aborts.ts';
import { countedSignal } from './scope-rig.ts';

const onAbort = (signal: AbortSignal, hear: (reason: string) => void) => new Aborts().follow(signal, hear);

describe('Aborts', () => {
  it('hears the reason in words, once', () => {
    const heard: string[] = [];
    const { controller, signal } = countedSignal();
    onAbort(signal, (reason) => heard.push(reason));
    controller.abort(new Error('left'));
    controller.abort(new Error('again'));
    expect(heard).toEqual(['left']);
  });

  it('hears at once of what has happened already', () => {
    const heard: string[] = [];
    const unlisten = onAbort(AbortSignal.abort('gone'), (reason) => heard.push(reason));
    expect(heard).toEqual(['gone']);
    expect(unlisten).not.toThrow();
  });

  it('hears nothing after its end', () => {
    const heard: string[] = [];
    const { controller, signal, listening } = countedSignal();
    onAbort(signal, (reason) => heard.push(reason))();
    expect(listening.size).toBe(0);
    controller.abort();
    expect(heard).toEqual([]);
  });

  it('stops listening when the last follower leaves', () => {
    const { signal, listening } = countedSignal();
    const aborts = new Aborts();
    const undo = [aborts.follow(signal, () => undefined), aborts.follow(signal, () => undefined)];
    undo[0]?.();
    undo[0]?.();
    expect(listening.size).toBe(1);
    undo[1]?.();
    expect(listening.size).toBe(0);
  });

  it('keeps one listener per signal, however many follow it', () => {
    const heard: number[] = [];
    const { controller, signal, listening } = countedSignal();
    const aborts = new Aborts();
    const undo = Array.from({ length: 50 }, (_, at) => aborts.follow(signal, () => heard.push(at)));
    expect(listening.size).toBe(1);
    for (const end of undo.slice(2)) end();
    expect(listening.size).toBe(1);
    controller.abort();
    expect(heard).toEqual([1, 0]);
    for (const end of undo) end();
    expect(heard).toEqual([1, 0]);
  });
});
