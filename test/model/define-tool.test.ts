/** What `defineTool` accepts, and what it makes of it. */
import { pathToFileURL } from 'node:url';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/model/define-tool.ts';
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
    expect(tool).toMatchObject({
      name: 'render',
      module: 'file:///srv/render.js',
      exportName: 'default',
      effects: 'none',
      isolation: 'thread',
      output: null,
      runTimeoutMs: null,
      graceMs: null,
      secrets: null,
    });
    expect(Object.isFrozen(tool)).toBe(true);
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

  it('has no default for effects', () => {
    expect(() => define({ effects: undefined })).toThrow(
      /Option "effects" must be given.*'none', 'declared', 'opaque'/,
    );
    expect(() => define({ effects: 'some' })).toThrow(/Option "effects"/);
  });

  it('answers NOT_AVAILABLE for processes', () => {
    expect(() => define({ isolation: 'process' })).toThrow(
      expect.objectContaining({ code: 'ERR_LEASEHOLD_NOT_AVAILABLE' }),
    );
    expect(() => define({ permissions: {} })).toThrow(expect.objectContaining({ code: 'ERR_LEASEHOLD_NOT_AVAILABLE' }));
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
  ])('refuses %j by its name', (over) => {
    expect(() => define(over)).toThrow(new RegExp(`Option "${Object.keys(over)[0]}" must be`));
  });

  it('refuses what is no definition at all', () => {
    expect(() => defineTool(undefined as unknown as ToolDefinition)).toThrow(/Option "definition" must be an object/);
  });
});
