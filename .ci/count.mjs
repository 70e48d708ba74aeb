/**
 * Reads the reports of the test runner and prints the last line of a run: how many passed, how many failed.
 *
 * Invariant: a failed step, a missing report, a file that failed without a failing test (a leak, an error at load) and a
 * run that failed without a failing file each count as one failure. The exit code follows. Deliberately absent: any
 * other output. Arguments: how many steps failed, then `report=exit status` for each run.
 */
import { readFileSync } from 'node:fs';

const [steps = '0', ...runs] = process.argv.slice(2);
let passed = 0;
let failed = Number(steps);

for (const run of runs) {
  const [path = '', status = '1'] = run.split('=');
  let broken = 0;
  try {
    for (const file of JSON.parse(readFileSync(path, 'utf8')).testResults) {
      const tests = file.assertionResults.filter((result) => result.status === 'failed').length;
      passed += file.assertionResults.filter((result) => result.status === 'passed').length;
      broken += tests === 0 && file.status === 'failed' ? 1 : tests;
    }
  } catch {
    broken = 1;
  }
  failed += broken === 0 && status !== '0' ? 1 : broken;
}

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
