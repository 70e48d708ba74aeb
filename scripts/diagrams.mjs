/**
 * Renews the diagrams of the machines in the document that holds them.
 *
 * Invariant: only what stands between the markers changes. Deliberately absent: the drawing (`mermaid.ts`), which is
 * loaded from source so that no build is needed.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const { module } = await runnerImport(fileURLToPath(new URL('mermaid.ts', import.meta.url)));
const file = new URL(`../${module.DOCUMENT}`, import.meta.url);
await writeFile(file, module.withDiagrams(await readFile(file, 'utf8')));
