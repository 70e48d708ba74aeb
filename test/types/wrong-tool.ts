/**
 * What must not compile in a tool module and in a scope.
 *
 * Invariant: each mark stands over exactly one mistake; a mistake that compiles makes its mark an error.
 * Deliberately absent: the machines' types, which `test/machines` uses as it goes.
 */
import { createSupervisor } from 'leasehold';
import { NotAppliedError, type ToolContext } from 'leasehold/worker';

export default async function charge(input: { cents: number }, ctx: ToolContext): Promise<{ receipt: string }> {
  const receipt: string = await ctx.perform({ name: 'charge', key: 'k', onAmbiguous: 'reconcile' }, async (key) => key);
  if (ctx.stopRequested()) throw new NotAppliedError('refused');
  ctx.progress(null, 'waiting');
  ctx.logger.info('charged', { cents: input.cents });

  // @ts-expect-error: an intent has a name
  await ctx.perform({}, async () => receipt);
  // @ts-expect-error: no such answer to ambiguity
  await ctx.perform({ name: 'charge', onAmbiguous: 'retry' }, async () => receipt);
  // @ts-expect-error: the effect is a function
  await ctx.perform({ name: 'charge' }, receipt);
  // @ts-expect-error: an effect is awaited
  const early: string = ctx.perform({ name: 'charge' }, async (key) => key);
  // @ts-expect-error: what it stands for is not changed
  ctx.tenant = 'another';
  // @ts-expect-error: it is asked, not read
  if (ctx.stopRequested === true) ctx.progress(1);
  // @ts-expect-error: progress is a number or unknown
  ctx.progress('half');
  // @ts-expect-error: blobs are bytes
  await ctx.blobs.put('text');
  return { receipt: early };
}

export async function scoped(): Promise<void> {
  const supervisor = createSupervisor();
  // @ts-expect-error: a tenant is a name
  supervisor.openScope({ tenant: 4 });
  // @ts-expect-error: no such option
  supervisor.openScope({ tenant: 'acme', timeoutMs: 1 });
  await using scope = supervisor.openScope({ tenant: 'acme', run: 'r-1' });
  // @ts-expect-error: the ctx is frozen
  scope.ctx.tenant = 'another';
  // @ts-expect-error: no such policy
  scope.spawn('child', async () => 1, { onFailure: 'ignore' });
  // @ts-expect-error: a child has a name
  scope.spawn(async () => 1);
}
