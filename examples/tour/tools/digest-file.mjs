// Reads a file, hashes it and counts what is in it: the honest work of the tour.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

export default async function digestFile({ path }) {
  const bytes = await readFile(path);
  const text = bytes.toString('utf8');
  return {
    path,
    bytes: bytes.length,
    lines: text.split('\n').length - 1,
    packages: path.endsWith('package-lock.json') ? Object.keys(JSON.parse(text).packages).length : 0,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}
