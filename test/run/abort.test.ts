/** The abort of a caller's signal: heard once, with its reason in words, until nobody listens. */
import { describe, expect, it } from 'vitest';
import { onAbort } from '../../src/run/abort.ts';
import { countedSignal } from '../scope/scope-rig.ts';

describe('onAbort', () => {
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
});
