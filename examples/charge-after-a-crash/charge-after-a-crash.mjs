// Payments that survive a crash of their host: who was charged is found out, and nobody is charged twice.
//
//   node examples/charge-after-a-crash/charge-after-a-crash.mjs
//
// The payment server runs here. The host that charges is a child, killed in the middle of its work, and started again. Order 1
// is answered; of 2 the money is taken and of 3 it is not, and both wait for an answer when the host dies; 4 had to wait.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const charged = [];
let waiting = 0;
let host;
const payments = createServer((request, response) => {
  const order = request.headers['idempotency-key'] ?? request.url.slice(1);
  if (request.method === 'GET') response.writeHead(charged.includes(order) ? 200 : 404).end();
  else {
    const isFirst = host.isFirst;
    if (!(isFirst && order === 'order-3') && !charged.includes(order)) charged.push(order);
    if (!isFirst || order === 'order-1') response.end();
    else {
      waiting += 1;
      if (waiting === 2) host.child.kill('SIGKILL');
    }
  }
});
await new Promise((listening) => payments.listen(0, '127.0.0.1', listening));

const folder = mkdtempSync(join(tmpdir(), 'charge-after-a-crash-'));
const url = `http://127.0.0.1:${payments.address().port}`;
const program = fileURLToPath(new URL('./host.mjs', import.meta.url));
for (const isFirst of [true, false]) {
  const child = spawn(process.execPath, ['--no-warnings', program, folder, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  host = { child, isFirst };
  child.stdout.pipe(process.stdout, { end: false });
  const [code, signal] = await once(child, 'close');
  console.log(signal === null ? `the host ended with ${code}` : `the host was ended by ${signal}`);
}
console.log(`charged: ${charged.sort().join(', ')}`);

payments.closeAllConnections();
payments.close();
rmSync(folder, { recursive: true, force: true });
