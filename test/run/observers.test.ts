/** Observers: stamps, order and what a throwing one costs. */
import { describe, expect, it } from 'vitest';
import type { Event, Observer } from '../../src/model/event.ts';
import { Observers } from '../../src/run/observers.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

const isolateEvent = (isolate: string) => ({ type: 'isolate.replaced' as const, isolate });
const named = ({ seq, ...event }: Event) => `${seq} ${'isolate' in event ? event.isolate : event.type}`;
const ignore = () => undefined;

function opened(own: readonly Observer[] = []) {
  const clock = new FakeClock();
  return { clock, observers: new Observers(clock, own) };
}

describe('Observers', () => {
  it('number events from 1 and stamp them with wall time, frozen', () => {
    const heard: Event[] = [];
    const { clock, observers } = opened([{ onEvent: (event) => heard.push(event) }]);
    observers.tell(isolateEvent('a'));
    clock.jump(5);
    observers.tell(isolateEvent('b'));
    expect(heard.map(({ seq, at }) => [seq, at])).toEqual([
      [1, clock.wall() - 5],
      [2, clock.wall()],
    ]);
    expect(heard.every(Object.isFrozen)).toBe(true);
  });

  it('tell an event caused by a hearer after the present one, to everybody', () => {
    const heard: string[] = [];
    const { observers } = opened();
    const first: Observer = {
      onEvent: (event) => {
        heard.push(`first ${named(event)}`);
        if (event.seq === 1) observers.tellAll([first, second], isolateEvent('b'), ignore);
      },
    };
    const second: Observer = { onEvent: (event) => heard.push(`second ${named(event)}`) };
    observers.tellAll([first, second], isolateEvent('a'), ignore);
    expect(heard).toEqual(['first 1 a', 'second 1 a', 'first 2 b', 'second 2 b']);
  });

  it('drop one that throws, tell of it once, and go on with the rest', () => {
    const heard: string[] = [];
    const thrown: unknown[] = [];
    const { observers } = opened();
    const broken: Observer = {
      onEvent: () => {
        throw new Error('broken');
      },
    };
    const sound: Observer = { onEvent: (event) => heard.push(named(event)) };
    for (const name of ['a', 'b', 'c'])
      observers.tellAll([broken, sound], isolateEvent(name), (error) => thrown.push(error));
    expect(heard).toEqual(['1 a', '2 b', '3 c']);
    expect(thrown).toEqual([new Error('broken')]);
  });

  it('keep what one throws at an event of no request for the next result', () => {
    const broken: Observer = {
      onEvent: () => {
        throw new Error('broken');
      },
    };
    const { observers } = opened([broken]);
    observers.tell(isolateEvent('a'));
    observers.tell(isolateEvent('b'));
    expect(observers.takeLeft()).toEqual(['An observer threw and hears no more: broken']);
    expect(observers.takeLeft()).toEqual([]);
  });

  it("join the supervisor's own with those of scope and request, in that order", () => {
    const one = (): Observer => ({ onEvent: ignore });
    const [own, scope, request] = [one(), one(), one()];
    const { observers } = opened([own]);
    const group = null;
    expect(observers.with([scope], { observers: [request], group })).toEqual([own, scope, request]);
    expect(observers.with([], { observers: [], group })).toEqual([own]);
    expect(opened().observers.with([], { observers: [], group })).toEqual([]);
  });

  it('drop one whose promise rejects, and tell it once', async () => {
    const thrown: unknown[] = [];
    let heard = 0;
    const broken = {
      onEvent: async () => {
        heard += 1;
        throw new Error('later');
      },
    } as unknown as Observer;
    const { observers } = opened();
    for (const isolate of ['a', 'b']) observers.tellAll([broken], isolateEvent(isolate), (error) => thrown.push(error));
    await settle();
    observers.tellAll([broken], isolateEvent('c'), (error) => thrown.push(error));
    expect([heard, thrown]).toEqual([2, [new Error('later')]]);
  });
});
