// A plugin that reads what is none of its business.
import { readFile } from 'node:fs/promises';

export default () => readFile('/etc/hosts', 'utf8');
