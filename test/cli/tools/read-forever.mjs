// Sits in a system call that nothing ends: a FIFO nobody writes to.
import { readFileSync } from 'node:fs';

// biome-ignore lint/style/noDefaultExport: a tool module
export default (path) => readFileSync(path);
