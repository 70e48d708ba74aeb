/**
 * Reads the reports of the test runner and prints the last line of a run: how many passed, how many failed.
 *
 * Invariant: a file that failed without a failing test (a leak, an error at load), a missing report and a failed step
 * each count as one failure; the exit code follows the line. Deliberately absent: any other output.
 */
import { readFileSync } from 'node:fs';

const [steps = '0', ...paths] = process.argv.slice(2);
let passed = 0;
let failed = 0;

for (const path of paths) {
  try {
    const { testResults } = JSON.parse(readFileSync(path, 'utf8'));
    for (const { status, assertionResults } of testResults) {
      const broken = assertionResults.filter((result) => result.status === 'failed').length;
      passed += assertionResults.filter((result) => result.status === 'passed').length;
      failed += broken === 0 && status === 'failed' ? 1 : broken;
    }
  } catch {
    failed += 1;
  }
}
// A suite that failed has been counted by its tests already, unless it failed for no test at all.
if (failed === 0) failed = Number(steps);

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
