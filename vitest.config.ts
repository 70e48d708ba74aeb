/**
 * How the suite runs: each file in its own process, two at a time, so that files with real threads do not starve.
 *
 * Invariant: nothing is retried, and every file ends with the leak check. Deliberately absent: a build; `npm test` makes
 * one first, since tests on real threads import the package by its own name.
 */
import { defineConfig } from 'vitest/config';

/** Where to write a JSON report for the machine that runs this, beside the one for people. */
const report = process.env['LEASEHOLD_REPORT'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/no-leaks.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
