/**
 * What must not compile: reading a result for more than it says.
 *
 * Invariant: each mark stands over exactly one mistake; a mistake that compiles makes its mark an error.
 * Deliberately absent: the values behind the types, which `run-result-schema` checks.
 */
import { createSupervisor, defineTool, type RunResult, unwrap } from 'leasehold';
import { z } from 'zod';

const supervisor = createSupervisor();

const measure = defineTool({
  name: 'measure',
  module: new URL('./measure.js', import.meta.url),
  input: z.string(),
  output: z.object({ size: z.number() }),
  effects: 'none',
});
const untold = defineTool({ name: 'untold', module: '/tools/untold.js', input: z.string(), effects: 'none' });

export async function read(): Promise<void> {
  const result = await supervisor.runTool(measure, 'four');

  const perhaps: { size: number } | undefined = result.value;
  const surely: number = unwrap(result).size;
  if (result.status === 'timed-out' && result.cause?.kind === 'run-timeout') console.log(perhaps, surely);
  if (result.ok) console.log(result.value.size);
  else console.log(result.error.code);
  if (result.status === 'succeeded') console.log(result.value.size);

  // @ts-expect-error: there may be no value
  console.log(result.value.size);
  // @ts-expect-error: there may be no value
  const value: { size: number } = result.value;
  // @ts-expect-error: there may be no error
  console.log(result.error.code);
  // @ts-expect-error: there may have been no lease
  console.log(result.lease.end);
  // @ts-expect-error: an isolate may never have been granted
  console.log(result.lease?.isolate.id);
  // @ts-expect-error: no such status
  console.log(result.status === 'timeout');
  // @ts-expect-error: no such status
  console.log(result.status === 'canceled');
  // @ts-expect-error: no such stop
  console.log(result.cause?.kind === 'timeout');
  // @ts-expect-error: a result is not changed
  result.status = 'succeeded';
  // @ts-expect-error: nor what it holds
  result.also.push();
  // @ts-expect-error: a result is not its value
  console.log(result.size);
  // @ts-expect-error: the promise was not awaited
  console.log(supervisor.runTool(measure, 'four').status);
  // @ts-expect-error: without an output schema nothing is known of the value
  console.log(unwrap(await supervisor.runTool(untold, 'four')).size);
  // @ts-expect-error: one result is not the other
  const other: RunResult<string> = result;
  console.log(value, other);
}
