/**
 * What a prepared handle costs a process while it is idle, and what stays of one that was discarded.
 *
 * Invariant: measured in a process of its own, by the platform's own list of resources and by its garbage collector. Deliberately
 * absent: behaviour (`prepared-handles.test.ts`).
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../fixtures/programs/prepared-handles.mjs', import.meta.url));

describe('a prepared handle', () => {
  it('holds no resource while idle, and lets its callback go when discarded', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program]);
    const told = JSON.parse(stdout);
    expect(told.idle).toEqual(told.before);
    expect(told.freed).toContain('discarded callback');
    expect(told.freed).not.toContain('idle callback');
    // The handles themselves live: they still tell what they were.
    expect(told.details).toEqual(['idle', 'discarded']);
  });
});
