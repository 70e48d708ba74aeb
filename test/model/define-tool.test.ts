/** What `defineTool` accepts, and what it makes of it. */
import { pathToFileURL } from 'node:url';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
import { PERMISSION_FLAG } from '../../src/model/permissions.ts';
import type { Tool, ToolDefinition } from '../../src/model/tool.ts';

const minimal = {
  name: 'render',
  module: new URL('file:///srv/render.js'),
  input: z.string(),
  effects: 'none',
} as const;
const define = (over: object): Tool => defineTool({ ...minimal, ...over } as ToolDefinition);

const moduleOf = (module: string): string => {
  const { work } = define({ module });
  return work.kind === 'module' ? work.module : work.kind;
};

describe('defineTool', () => {
  it('completes and freezes a definition', () => {
    const tool = defineTool(minimal);
    expect(tool).toEqual({
      name: 'render',
      work: { kind: 'module', module: 'file:///srv/render.js', exportName: 'default' },
      input: minimal.input,
      output: null,
      effects: 'none',
      isolation: 'thread',
      permissions: null,
      outputRules: { limits: {}, onLimit: 'truncate', encoding: 'utf8', readStderr: null },
      runTimeoutMs: null,
      graceMs: null,
      secrets: null,
    });
    for (const part of [tool, tool.work, tool.outputRules, tool.outputRules.limits])
      expect(Object.isFrozen(part)).toBe(true);
  });

  it('infers what callers pass and what they get', () => {
    const tool = defineTool({
      ...minimal,
      input: z.object({ n: z.coerce.number<string>() }),
      output: z.string().transform(Number),
    });
    expectTypeOf(tool).toEqualTypeOf<Tool<{ n: string }, number>>();
    expectTypeOf(defineTool(minimal)).toEqualTypeOf<Tool<string, unknown>>();
  });

  it.each(['Render', '1render', '', 'a'.repeat(65), 'ren der', 7])('refuses the name %j', (name) => {
    expect(() => define({ name })).toThrow(/Option "name" must be/);
  });

  it('has no default for effects', () => {
    expect(() => define({ effects: undefined })).toThrow(
      /Option "effects" must be given.*'none', 'declared', 'opaque'/,
    );
    expect(() => define({ effects: 'some' })).toThrow(/Option "effects"/);
  });

  it('names a field nobody knows', () => {
    expect(() => define({ timeoutMs: 5 })).toThrow(/Unknown option "timeoutMs" of defineTool/);
  });

  it.each([
    { input: {} },
    { output: 'string' },
    { secrets: [] },
    { exportName: '' },
    { runTimeoutMs: 0 },
    { graceMs: Number.POSITIVE_INFINITY },
    { isolation: 'inline' },
    { onLimit: 'fail' },
    { encoding: 'latin1' },
  ])('refuses %j by its name', (over) => {
    expect(() => define(over)).toThrow(new RegExp(`Option "${Object.keys(over)[0]}" must be`));
  });

  it('refuses what is no definition at all', () => {
    expect(() => defineTool(undefined as unknown as ToolDefinition)).toThrow(/Option "definition" must be an object/);
  });
});

describe('defineTool, module', () => {
  it('takes file URLs and absolute paths as file URLs', () => {
    expect(moduleOf('file:///srv/a%20b.js')).toBe('file:///srv/a%20b.js');
    expect(moduleOf('/srv/a b.js')).toBe('file:///srv/a%20b.js');
  });

  it('resolves a package from the working directory', () => {
    expect(moduleOf('zod')).toMatch(/^file:\/\/.*node_modules\/zod\//);
    expect(moduleOf('zod').startsWith(pathToFileURL(process.cwd()).href)).toBe(true);
  });

  it('keeps a specifier that only the isolate can resolve', () => {
    expect(moduleOf('@nobody/nothing')).toBe('@nobody/nothing');
  });

  it.each(['./render.js', '../render.js', '.', '..'])(
    'refuses the relative path %s and says what to write',
    (module) => {
      expect(() => define({ module })).toThrow(/not a relative path but .*import\.meta\.url/);
    },
  );

  it.each(['https://example.org/x.js', 'data:text/javascript,0', 'node:fs', '', 7, new URL('https://example.org')])(
    'refuses the module %s',
    (module) => {
      expect(() => define({ module })).toThrow(/Option "module" must be a file URL/);
    },
  );
});

describe('defineTool, isolation and permissions', () => {
  it('takes a process, and restricts nothing in it without permissions', () => {
    expect(define({ isolation: 'process' })).toMatchObject({ isolation: 'process', permissions: null });
  });

  it('refuses permissions for a thread, which cannot be held to them', () => {
    for (const isolation of [undefined, 'thread'])
      expect(() => define({ isolation, permissions: {} })).toThrow(
        /Option "permissions" must be given only with isolation 'process'/,
      );
  });

  it('grants nothing that was not asked for, where Node has a permission model', () => {
    const given = () => define({ isolation: 'process', permissions: { fsRead: ['/srv'] } }).permissions;
    if (PERMISSION_FLAG === null)
      expect(given).toThrow(expect.objectContaining({ code: 'ERR_LEASEHOLD_NOT_AVAILABLE' }));
    else expect(given()).toEqual({ fsRead: ['/srv'], fsWrite: [], childProcess: false, worker: false });
  });

  it.each([{ fsRead: '/srv' }, { fsWrite: [7] }, { childProcess: 'yes' }, { network: true }, []])(
    'refuses the permissions %j',
    (permissions) => {
      const refusal = PERMISSION_FLAG === null ? /permission/ : /permissions/;
      expect(() => define({ isolation: 'process', permissions })).toThrow(refusal);
    },
  );
});

describe('defineTool, output', () => {
  it('keeps the limits that were given, and no other', () => {
    const { outputRules } = define({
      outputLimits: { stdoutBytes: 10, readBytes: undefined },
      onLimit: 'stop',
      encoding: 'bytes',
    });
    expect(outputRules).toEqual({ limits: { stdoutBytes: 10 }, onLimit: 'stop', encoding: 'bytes', readStderr: null });
  });

  it.each([{ stdoutBytes: -1 }, { stderrBytes: 1.5 }, { combinedBytes: '1' }, { postKillBytes: Number.NaN }])(
    'refuses the limits %j by their name',
    (outputLimits) => {
      expect(() => define({ outputLimits })).toThrow(
        new RegExp(`Option "outputLimits.${Object.keys(outputLimits)[0]}" must be a whole number`),
      );
    },
  );

  it('names a limit nobody knows', () => {
    expect(() => define({ outputLimits: { stdinBytes: 1 } })).toThrow(/Unknown option "stdinBytes" of outputLimits/);
  });
});
