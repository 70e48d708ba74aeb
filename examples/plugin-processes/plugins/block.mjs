// A plugin that blocks in a system call: nothing of JavaScript runs until it returns.
import { execFileSync } from 'node:child_process';

export default () => execFileSync('sleep', ['60'], { encoding: 'utf8' });
