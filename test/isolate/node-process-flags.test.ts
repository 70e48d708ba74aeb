/** What Node is started with, and what its last words say: the parts of a process tenure that need no process. */
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FatalText } from '../../src/isolate/node-process-fatal.ts';
import { isolateEnv, memoryFlags, permissionFlags } from '../../src/isolate/node-process-flags.ts';

const NONE = { fsRead: [], fsWrite: [], childProcess: false, worker: false };
const PID = 4_242;
const FATAL = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n';
const accountOf = (pid: number) =>
  `\n<--- Last few GCs --->\n\n[${pid}:0x22780e20]       32 ms: Mark-Compact 17.0 (26.7) -> 16.0 (49.7) MB\n\n`;
const WORDS = `${accountOf(PID)}<--- JS stacktrace --->\n\n${FATAL}`;

describe('memoryFlags', () => {
  it('are those that were asked for, in whole megabytes of at least one', () => {
    expect(memoryFlags({})).toEqual([]);
    expect(memoryFlags({ maxOldGenerationSizeMb: 63.2 })).toEqual(['--max-old-space-size=64']);
    expect(memoryFlags({ maxYoungGenerationSizeMb: 16 })).toEqual(['--max-semi-space-size=5']);
    expect(memoryFlags({ maxYoungGenerationSizeMb: 1 })).toEqual(['--max-semi-space-size=1']);
    expect(memoryFlags({ stackSizeMb: 4 })).toEqual([]);
  });
});

describe('permissionFlags', () => {
  it('grant reading the isolate and its modules, and nothing else unasked', () => {
    const flags = permissionFlags(NONE, [pathToFileURL('/srv/tool.mjs').href, 'a-package']);
    const [model, ...grants] = flags;
    expect(['--permission', '--experimental-permission']).toContain(model);
    expect(grants.every((flag) => flag.startsWith('--allow-fs-read='))).toBe(true);
    expect(grants).toContain('--allow-fs-read=/srv/tool.mjs');
    const paths = grants.map((flag) => flag.slice('--allow-fs-read='.length));
    expect(paths).not.toContain('*');
    const own = paths.filter((path) => path !== '/srv/tool.mjs').map((path) => path.replace(/[\\/]\*$/, ''));
    expect(own.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('name each thing that was asked for', () => {
    const flags = permissionFlags({ fsRead: ['/a', '*'], fsWrite: ['/b'], childProcess: true, worker: true }, []);
    const asked = ['--allow-fs-read=/a', '--allow-fs-read=*', '--allow-fs-write=/b', '--allow-child-process'];
    expect(flags).toEqual(expect.arrayContaining([...asked, '--allow-worker']));
  });
});

describe('isolateEnv', () => {
  it("is the host's, without its options for Node where permissions hold", () => {
    const before = process.env['NODE_OPTIONS'];
    process.env['NODE_OPTIONS'] = '--allow-fs-read=*';
    const [free, restricted] = [isolateEnv(false), isolateEnv(true)];
    if (before === undefined) delete process.env['NODE_OPTIONS'];
    else process.env['NODE_OPTIONS'] = before;
    expect(free).toMatchObject({ NODE_OPTIONS: '--allow-fs-read=*', PATH: process.env['PATH'] });
    expect(Object.hasOwn(restricted, 'NODE_OPTIONS')).toBe(false);
    expect(restricted['PATH']).toBe(process.env['PATH']);
  });
});

describe('the last words of Node', () => {
  const errorAfter = (text: string, code: number | null, signal: string | null) => {
    const fatal = new FatalText(PID);
    for (const byte of Buffer.from(text)) fatal.push(Uint8Array.of(byte));
    return fatal.errorOf(code, signal);
  };

  it('explain an abort by an exhausted heap, however they were cut', () => {
    expect(errorAfter(`${'x'.repeat(2_000)}\n${WORDS}`, null, 'SIGABRT')).toMatchObject({
      code: 'ERR_LEASEHOLD_OUT_OF_MEMORY',
    });
    expect(errorAfter(WORDS, 134, null)).toMatchObject({ code: 'ERR_LEASEHOLD_OUT_OF_MEMORY' });
  });

  it('explain no other end, and no abort without them', () => {
    expect(errorAfter(WORDS, 1, null)).toBeNull();
    expect(errorAfter(WORDS, null, 'SIGKILL')).toBeNull();
    expect(errorAfter('heap out of memory\n', null, 'SIGABRT')).toBeNull();
  });

  it('are known also where the account of the first collection is cut', () => {
    const cut = `\n<--- Last few GCs --->\nnce start of marking 86 ms) current mu = 0[${PID}:0x110b0000]      775 ms: Mark-Compact\n`;
    expect(errorAfter(`${cut}${FATAL}`, null, 'SIGABRT')).not.toBeNull();
  });

  it.each([
    ['alone', FATAL],
    ['after a heading without an account', `\n<--- Last few GCs --->\n\n${FATAL}`],
    ['after the account of another process', `${accountOf(PID + 1)}${FATAL}`],
    ['before the account', `${FATAL}${accountOf(PID)}`],
  ])("are not a tool's own that say the same %s", (_, text) => {
    expect(errorAfter(text, null, 'SIGABRT')).toBeNull();
  });

  it('are looked for in the end of what was written only', () => {
    expect(errorAfter(`${WORDS}${'x'.repeat(20_000)}`, null, 'SIGABRT')).toBeNull();
  });
});
