/** Queue: strict order of arrival, the returned ones first, and who is told of room. */
import { describe, expect, it } from 'vitest';
import type { Isolate } from '../../src/isolate/isolate.ts';
import { Queue, type Waiting } from '../../src/run/queue.ts';

const ISOLATE = { id: 'isolate-1' } as Isolate;

interface Named extends Waiting {
  readonly tool: string;
}

/** A queue before a gate that lets `open` requests through, and none of a lane that is shut. */
function opened(capacity = 10) {
  const gate = { open: 0, shut: new Set<string>() };
  const granted: string[] = [];
  const asked: string[] = [];
  const queue = new Queue<Named>(
    (depth) => depth < Math.max(capacity, gate.open),
    ({ tool, lane }) => {
      asked.push(tool);
      if (gate.open === 0 || gate.shut.has(lane)) return null;
      gate.open -= 1;
      return ISOLATE;
    },
  );
  const waiting = (tool: string, onGrant: () => void = () => undefined, since = 0, lane = 'thread'): Named => ({
    tool,
    lane,
    since,
    grant: () => {
      granted.push(tool);
      onGrant();
    },
  });
  const enter = (...list: Named[]) => {
    for (const one of list) {
      queue.expect();
      queue.enter(one);
    }
  };
  return { queue, gate, granted, asked, waiting, enter };
}

describe('Queue', () => {
  it('grants in order of arrival', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    enter(waiting('a'), waiting('b'), waiting('c'));
    gate.open = 2;
    queue.dispatch();
    expect(granted).toEqual(['a', 'b']);
    expect(queue.depth).toBe(1);
  });

  it('asks for nobody behind the first in line, even when that one could be placed', () => {
    const { asked, waiting, enter } = opened();
    enter(waiting('a'), waiting('b'));
    expect(new Set(asked)).toEqual(new Set(['a']));
  });

  it('serves one that lost its isolate before all others', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    enter(waiting('a'), waiting('b'));
    queue.enterAgain(waiting('lost'));
    expect(queue.depth).toBe(3);
    gate.open = 2;
    queue.dispatch();
    expect(granted).toEqual(['lost', 'a']);
  });

  it('takes up an isolate that a grant frees again at once, without nesting', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    const free = () => {
      gate.open += 1;
      queue.dispatch();
    };
    enter(waiting('a', free), waiting('b', free), waiting('c'));
    gate.open = 1;
    queue.dispatch();
    expect(granted).toEqual(['a', 'b', 'c']);
  });

  it('lets no lane wait for another', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    gate.shut.add('thread');
    enter(waiting('hung', undefined, 1), waiting('fetch', undefined, 2, 'network'));
    gate.open = 2;
    queue.dispatch();
    expect(granted).toEqual(['fetch']);
    expect([queue.waiting('thread'), queue.waitingElsewhere('thread'), queue.oldestSince]).toEqual([1, 0, 1]);
  });

  it('gives what lanes share to the one whose first waits longest', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    enter(waiting('b', undefined, 2, 'process'), waiting('d', undefined, 4, 'process'));
    enter(waiting('a', undefined, 1, 'command'), waiting('c', undefined, 3, 'command'));
    gate.open = 3;
    queue.dispatch();
    expect(granted).toEqual(['a', 'b', 'c']);
  });

  it('serves one that enters a lane whose turn had passed within the same dispatch', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    enter(waiting('x', undefined, 1, 'process'));
    const first = waiting('a', () => enter(waiting('b', undefined, 3, 'process')), 2);
    queue.expect();
    queue.enter(first);
    gate.open = 3;
    queue.dispatch();
    expect(granted).toEqual(['x', 'a', 'b']);
  });

  it('dispatches again after a grant that threw', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    enter(
      waiting('a', () => {
        throw new Error('broken');
      }),
      waiting('b'),
    );
    gate.open = 2;
    expect(() => queue.dispatch()).toThrow('broken');
    queue.dispatch();
    expect(granted).toEqual(['a', 'b']);
  });

  it('forgets one that leaves, wherever it waits', () => {
    const { queue, gate, granted, waiting, enter } = opened();
    const [first, lost] = [waiting('a'), waiting('lost')];
    enter(first, waiting('b'));
    queue.enterAgain(lost);
    queue.leave(first);
    queue.leave(lost);
    queue.leave(first);
    gate.open = 5;
    queue.dispatch();
    expect(granted).toEqual(['b']);
    expect(queue.depth).toBe(0);
  });

  it('counts those that are expected, and tells since when the first waits', () => {
    const { queue, waiting, enter } = opened();
    expect(queue.oldestSince).toBeNull();
    queue.expect();
    expect([queue.depth, queue.oldestSince]).toEqual([1, null]);
    queue.giveUp();
    enter(waiting('a', undefined, 7), waiting('b', undefined, 9));
    expect([queue.depth, queue.oldestSince]).toEqual([2, 7]);
  });
});

describe('untilCapacity', () => {
  /** How far promises have come. */
  const turns = async () => {
    for (let turn = 0; turn < 5; turn += 1) await null;
  };

  it('resolves at once while there is room', async () => {
    await expect(opened(1).queue.untilCapacity()).resolves.toBeUndefined();
  });

  it.each(['leave', 'grant', 'giveUp', 'release'] as const)('waits until room is made by %s', async (way) => {
    const { queue, gate, waiting, enter } = opened(1);
    const first = waiting('a');
    if (way === 'giveUp') queue.expect();
    else enter(first);
    let told = 0;
    for (let caller = 0; caller < 2; caller += 1) void queue.untilCapacity().then(() => (told += 1));
    await turns();
    expect(told).toBe(0);
    if (way === 'leave') queue.leave(first);
    if (way === 'giveUp') queue.giveUp();
    if (way === 'release') queue.release();
    gate.open = 1;
    if (way === 'grant') queue.dispatch();
    await turns();
    expect(told).toBe(2);
  });

  it('with a capacity of 0, resolves when an isolate is free', async () => {
    const { queue, gate } = opened(0);
    let told = false;
    void queue.untilCapacity().then(() => (told = true));
    queue.dispatch();
    await turns();
    expect(told).toBe(false);
    gate.open = 1;
    queue.dispatch();
    await turns();
    expect(told).toBe(true);
  });

  it('resolves when one that was expected is granted an isolate as it enters', async () => {
    const { queue, gate, granted, waiting } = opened(1);
    queue.expect();
    let told = false;
    void queue.untilCapacity().then(() => (told = true));
    await turns();
    expect(told).toBe(false);
    gate.open = 1;
    queue.enter(waiting('a'));
    await turns();
    expect([granted, told]).toEqual([['a'], true]);
  });
});

describe('a lane', () => {
  it('is forgotten when nobody waits in it, whoever it was that left', () => {
    const { queue, gate, waiting, enter, granted } = opened();
    const gone = waiting('gone', undefined, 0, 'a');
    enter(gone, waiting('b', undefined, 0, 'b'));
    queue.leave(gone);
    queue.leave(waiting('never', undefined, 0, 'c'));
    gate.open = 1;
    queue.dispatch();
    enter(waiting('again', undefined, 0, 'a'));
    expect([granted, queue.lanes, queue.depth]).toEqual([['b'], 1, 1]);
  });
});
