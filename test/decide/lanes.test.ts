/** Lanes: which tools may be served by the same isolates. */
import { describe, expect, it } from 'vitest';
import { laneOf } from '../../src/decide/lanes.ts';
import type { Work } from '../../src/model/work.ts';

const module: Work = { kind: 'module', module: 'file:///a.js', exportName: 'default' };
const inline = (occupiesPool: boolean): Work => ({ kind: 'inline', occupiesPool, serve: async () => 1 });
const none = { fsRead: [], fsWrite: [], childProcess: false, worker: false };

describe('laneOf', () => {
  it('tells kinds of work apart', () => {
    const command: Work = { kind: 'command', drain: { quietMs: 1, maxMs: 1 }, plan: () => ({}) as never };
    expect([
      laneOf({ work: module, isolation: 'thread', permissions: null }),
      laneOf({ work: module, isolation: 'process', permissions: null }),
      laneOf({ work: command, isolation: 'process', permissions: null }),
      laneOf({ work: inline(true), isolation: 'inline', permissions: null }),
      laneOf({ work: inline(false), isolation: 'inline', permissions: null }),
    ]).toEqual(['thread', 'process', 'command', 'disk', 'network']);
  });

  it('gives each set of permissions, and each module under one, a lane of its own', () => {
    const lane = (file: string, permissions: typeof none) =>
      laneOf({ work: { ...module, module: file } as Work, isolation: 'process', permissions });
    const lanes = [
      lane('file:///a.js', none),
      lane('file:///b.js', none),
      lane('file:///a.js', { ...none, worker: true }),
      lane('file:///a.js', { ...none, fsRead: ['/srv'] as never }),
    ];
    expect(new Set(lanes).size).toBe(4);
    expect(lane('file:///a.js', { ...none })).toBe(lanes[0]);
  });
});
