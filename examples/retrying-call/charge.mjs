// One effect that may be repeated under its key, since the server knows the key again.
import { NotAppliedError } from 'leasehold/worker';

export default async function charge({ url }, ctx) {
  return ctx.perform({ name: 'charge', onAmbiguous: 'rerun-same-key' }, async (key) => {
    const headers = { 'idempotency-key': key, connection: 'close' };
    const answer = await fetch(url, { method: 'POST', headers, signal: ctx.signal });
    if (answer.status === 503) throw new NotAppliedError('the server is busy');
    return answer.text();
  });
}
