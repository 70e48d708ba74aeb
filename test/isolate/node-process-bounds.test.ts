/**
 * NodeProcessTenure on a process that is not there, with a clock that moves only when told: every wait and its end.
 *
 * Invariant: what the process does is what the test says. Deliberately absent: real processes (`node-process.test.ts`).
 */
import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { NodeProcessTenure } from '../../src/isolate/node-process-tenure.ts';
import type { ProcessListener, ProcessRequest, RunningProcess } from '../../src/process/backend.ts';
import { FrameReader, frameOf } from '../../src/wire/frames.ts';
import { CREDIT_BYTES, WORD } from '../../src/wire/protocol.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { FakeBackend, survivor } from '../support/process-fakes.ts';
import { RUN } from './isolate-rig.ts';

/** Gives each process a link whose other end the test plays. */
class LinkedBackend extends FakeBackend {
  readonly posted: unknown[] = [];
  readonly link: Duplex;
  readonly #reader = new FrameReader();

  constructor() {
    super();
    this.link = new Duplex({
      read: () => undefined,
      write: (chunk: Uint8Array, _encoding, done) => {
        this.#reader.push(chunk, (message) => this.posted.push(message));
        done();
      },
    });
  }
  override start(request: ProcessRequest, listener: ProcessListener): RunningProcess {
    super.start(request, listener);
    const { process } = this;
    return new Proxy(process, {
      get: (target, name) => (name === 'link' ? this.link : Reflect.get(target, name, target)),
    });
  }
}

const REQUEST: ProcessRequest = { file: 'node', args: [], cwd: null, env: {}, stdin: null, link: true };

function openRig() {
  const clock = new FakeClock();
  const backend = new LinkedBackend();
  const heard: unknown[] = [];
  const setting = { clock, backend, sweepMs: 500, bootMs: 1_000, health: { full: 'sampled' }, tailBytes: 1 } as const;
  const tenure = new NodeProcessTenure(setting, REQUEST, () => heard.push('gone'));
  const { nonce: n } = tenure;
  let wake = (): void => undefined;
  tenure.listen({
    onRecord: (record) => {
      heard.push((record as { t?: string } | undefined)?.t);
      wake();
    },
    onRemains: ({ code, signal }, reason) => heard.push(`remains ${signal ?? code}: ${reason}`),
    onExit: ({ code, signal }) => {
      heard.push(`exit ${signal ?? code}`);
      wake();
    },
  });
  return {
    ...{ clock, backend, heard, tenure, n },
    /** Plays the process: writes records with the nonce. */
    say: (...records: object[]) =>
      backend.link.emit('data', Buffer.concat(records.map((record) => frameOf({ ...record, n })))),
    /** The process has ended, and with it its link and its pipes. */
    end(code: number | null, signal: string | null = null) {
      backend.process.end(code, signal);
      backend.link.emit('end');
      backend.process.endPipes();
    },
    async until(word: string) {
      while (!heard.includes(word)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
type Rig = ReturnType<typeof openRig>;
const boot = async (rig: Rig) => {
  rig.say({ t: 'installed' });
  await rig.tenure.installed;
};
const SETTLED = { t: 'settled', seq: 1, ok: true, clean: true, reset: false, healthCheck: false, ranMs: 1 };

describe('a boot', () => {
  it('is over when the process says so with the nonce, which only its terms tell', async () => {
    const rig = openRig();
    const terms = { t: 'install', nonce: rig.n, health: { full: 'sampled' }, tailBytes: 1 };
    expect(rig.backend.posted).toEqual([terms]);
    rig.backend.link.emit('data', frameOf({ t: 'installed', n: 'another' }));
    expect(rig.clock.pending).toBe(1);
    await boot(rig);
    expect(rig.clock.pending).toBe(0);
    expect(rig.heard).toEqual(['installed']);
  });

  it('that takes its whole bound is ended, and rejects', async () => {
    const rig = openRig();
    rig.clock.jump(1_000);
    rig.clock.fireDue();
    await expect(rig.tenure.installed).rejects.toThrow('within 1000 ms');
    expect(rig.backend.sent).toEqual(['SIGKILL']);
  });
});

describe('an answer', () => {
  it('waits for the other pipes to be read', async () => {
    const rig = openRig();
    await boot(rig);
    rig.tenure.post({ t: 'run', seq: 1, ...RUN });
    rig.say({ t: 'started', seq: 1 }, SETTLED);
    rig.backend.process.write('native');
    expect(rig.heard).toEqual(['started', 'output']);
    await rig.until('settled');
    expect(rig.heard).toEqual(['started', 'output', 'settled']);
  });

  it('is there for a sweep at once, and told once', async () => {
    const rig = openRig();
    await boot(rig);
    rig.tenure.post({ t: 'run', seq: 1, ...RUN });
    rig.say(SETTLED, { t: 'looked', seq: 1, findings: [], heapBytes: null });
    expect(rig.tenure.receive()?.message).toMatchObject(SETTLED);
    await rig.until('looked');
    expect(rig.heard).toEqual(['looked']);
    expect(rig.tenure.receive()).toBeUndefined();
  });
});

describe('the words', () => {
  it('say started for the lease that was posted, and for no other', async () => {
    const rig = openRig();
    await boot(rig);
    rig.tenure.post({ t: 'run', seq: 3, ...RUN });
    rig.say({ t: 'started', seq: 2 });
    expect(rig.tenure.words[WORD.STARTED]).toBe(0);
    rig.say({ t: 'started', seq: 3 });
    expect(rig.tenure.words[WORD.STARTED]).toBe(3);
  });

  it('say held when the process says so, and when its link breaks off in a record', async () => {
    const rig = openRig();
    await boot(rig);
    rig.say({ t: 'held', bytes: 5 });
    expect(rig.tenure.words[WORD.HELD]).toBe(1);
    rig.say({ t: 'held', bytes: 0 });
    expect(rig.tenure.words[WORD.HELD]).toBe(0);
    rig.backend.link.emit('data', frameOf({ ...SETTLED, n: rig.n }).subarray(0, 20));
    rig.backend.link.emit('end');
    expect(rig.tenure.words[WORD.HELD]).toBe(1);
    expect(rig.heard).toEqual([]);
  });

  it.each([[{ valueOf: 1, toString: 1 }], ['5'], [0.5], [Number.POSITIVE_INFINITY], [null], [[[]]]])(
    'make no credit of %j, and throw nothing',
    async (credit) => {
      const rig = openRig();
      await boot(rig);
      rig.say({ t: 'log', seq: 0, message: '', level: 'info', fields: null, dropped: 0, credit });
      expect(rig.tenure.words[WORD.CREDIT]).toBe(0);
    },
  );

  it('make credit of what was read, in steps, and of no nonsense', async () => {
    const rig = openRig();
    await boot(rig);
    const output = { t: 'output', seq: 0, stream: 'stdout', bytes: new Uint8Array(1), omittedBytes: 0 };
    rig.say({ ...output, credit: 1_000 }, { ...output, credit: Number.NaN }, { ...output, credit: -5 });
    expect(rig.backend.posted.slice(1)).toEqual([]);
    rig.say({ ...output, credit: CREDIT_BYTES });
    expect(rig.backend.posted.slice(1)).toEqual([{ t: 'credit', bytes: CREDIT_BYTES + 1_000 }]);
    expect(rig.tenure.words[WORD.CREDIT]).toBe(CREDIT_BYTES + 1_000);
  });
});

describe('an end', () => {
  it('is told after the group was killed, the pipes read and the rest looked for', async () => {
    const rig = openRig();
    await boot(rig);
    rig.end(3);
    expect(rig.backend.sent).toEqual(['SIGKILL']);
    expect(rig.heard).toEqual([]);
    await rig.until('exit 3');
    expect(rig.backend.looks).toBe(1);
    expect(rig.heard).toEqual(['exit 3', 'gone']);
    expect(rig.clock.pending).toBe(0);
  });

  it('is told at once while something of it lives, and its exit once that is gone', async () => {
    const rig = openRig();
    await boot(rig);
    rig.backend.found = async () => [survivor()];
    rig.backend.reach = (signal) => (typeof signal === 'number' ? 'refused' : 'gone');
    rig.tenure.terminate();
    rig.end(null, 'SIGKILL');
    await rig.clock.advance(500);
    await settle();
    const remains = 'remains SIGKILL: not permitted to end sleep (4300)';
    expect(rig.heard).toEqual([remains]);
    expect(rig.tenure.exit).toBeNull();
    rig.backend.found = async () => [];
    await rig.clock.advance(1_000);
    await rig.until('exit SIGKILL');
    expect(rig.heard).toEqual([remains, 'exit SIGKILL', 'gone']);
  });

  it('that is never seen is never told', async () => {
    const rig = openRig();
    await boot(rig);
    rig.tenure.terminate();
    rig.tenure.terminate();
    await rig.clock.advance(600_000);
    expect(rig.backend.sent).toEqual(['SIGKILL']);
    expect(rig.heard).toEqual([]);
  });

  it('of the link alone ends the process half a second later', async () => {
    const rig = openRig();
    await boot(rig);
    rig.backend.link.emit('end');
    await rig.clock.advance(499);
    expect(rig.backend.sent).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.backend.sent).toEqual(['SIGKILL']);
  });
});
