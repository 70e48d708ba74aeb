/** Permissions as Node itself holds them: what was not granted fails in the tool, with Node's own code. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type Permissions, permissionsOf } from '../../src/model/permissions.ts';
import { HeardTenure, moduleOf, openPool, openTenure } from './node-process-rig.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-permissions-'));
const readable = join(folder, 'readable');
const writable = join(folder, 'writable');
writeFileSync(readable, 'secret');
afterAll(() => rmSync(folder, { recursive: true }));

const openWith = (permissions: Permissions) => openTenure({ permissions: permissionsOf(permissions) });
const DENIED = { ok: false, failure: { code: 'TOOL_ERROR', fields: { code: 'ERR_ACCESS_DENIED' } } };

describe('a process with permissions', () => {
  it('and none granted loads its module, and reads, writes and starts nothing', async () => {
    const heard = await openWith({});
    expect((await heard.run('say', 1)).ok).toBe(true);
    expect(await heard.run('read', readable)).toMatchObject(DENIED);
    expect(await heard.run('write', writable)).toMatchObject(DENIED);
    expect(await heard.run('start')).toMatchObject(DENIED);
    expect(await heard.run('startThread')).toMatchObject(DENIED);
  });

  it('reads and writes what was granted, and nothing beside it', async () => {
    const heard = await openWith({ fsRead: [readable], fsWrite: [writable] });
    expect((await heard.run('read', readable)).value).toBe('secret');
    expect(await heard.run('read', join(folder, 'other'))).toMatchObject(DENIED);
    expect((await heard.run('write', writable)).ok).toBe(true);
    expect(readFileSync(writable, 'utf8')).toBe('written');
    expect(await heard.run('write', readable)).toMatchObject(DENIED);
  });

  it('starts what was granted', async () => {
    const heard = await openWith({ childProcess: true, worker: true });
    expect((await heard.run('start')).ok).toBe(true);
    expect((await heard.run('startThread')).value).toBe(0);
  });

  it('loads no module but the ones it serves', async () => {
    const heard = await openWith({});
    const { failure } = await heard.run('default', 1, 'plain');
    expect(failure).toMatchObject({ code: 'TOOL_LOAD', fields: { code: 'ERR_ACCESS_DENIED' } });
  });

  it('takes no flags from the environment of the host', async () => {
    const before = process.env['NODE_OPTIONS'];
    process.env['NODE_OPTIONS'] = '--allow-fs-read=*';
    try {
      expect(await (await openWith({})).run('read', readable)).toMatchObject(DENIED);
    } finally {
      if (before === undefined) delete process.env['NODE_OPTIONS'];
      else process.env['NODE_OPTIONS'] = before;
    }
  });
});

describe('a process with permissions whose Comlink is a link', () => {
  it('boots, and reads no more than otherwise', async () => {
    const packages = join(folder, 'node_modules');
    const own = join(packages, 'leasehold');
    const root = fileURLToPath(new URL('../../', import.meta.url));
    cpSync(join(root, 'dist'), join(own, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(own, 'package.json'));
    for (const name of readdirSync(join(root, 'node_modules')).filter((entry) => !entry.startsWith('.')))
      symlinkSync(join(root, 'node_modules', name), join(packages, name));
    const url = pathToFileURL(join(own, 'dist/src/isolate/node-process.js')).href;
    const heard = new HeardTenure(openPool({ permissions: permissionsOf({}) }, (await import(url)).NodeProcessPool));
    await heard.tenure.installed;
    expect((await heard.run('say', 1)).ok).toBe(true);
    expect(await heard.run('read', readable)).toMatchObject(DENIED);
  });
});

describe('a process without permissions', () => {
  it('is restricted in nothing', async () => {
    const heard = await openTenure({ modules: [moduleOf('own-process')] });
    expect((await heard.run('read', readable)).value).toBe('secret');
    expect((await heard.run('start')).ok).toBe(true);
  });
});
