// An agent-like loop: a writer drafts, an assessor finds fault, and the writer has another turn, until there is none.
//
//   node examples/agent-loop/agent-loop.mjs
//
// Both are scripted, so that it runs without a network; each could be a model. One isolate and no queue are enough: when the
// loop decides, the turn's lease is over, and the assessment is a request of its own with a budget of its own.
import { createSupervisor, defineTool, unwrap } from 'leasehold';
import { z } from 'zod';

const tool = (name, input, output) =>
  defineTool({ name, module: new URL(`./${name}.mjs`, import.meta.url), input, output, effects: 'none', graceMs: 200 });
const write = tool(
  'write',
  z.object({ patience: z.enum(['endless', 'short']), remarks: z.array(z.string()) }),
  z.string(),
);
const assess = tool('assess', z.string(), z.array(z.string()));

const supervisor = createSupervisor({ isolates: 1, queue: { capacity: 0 } });
await supervisor.untilReady();
const scope = supervisor.openScope({ run: 'report', deadlineMs: 60_000 });

/** One turn of the writer. What it may take is its own affair, turn by turn. */
const turn = (input) => ({ tool: write, input, options: { operationTimeoutMs: 1_000 } });

const { value, turns } = await scope.coordinate(
  turn({ patience: 'endless', remarks: [] }),
  async (drafted, within) => {
    // A turn that failed is told like any other: this one thought for too long.
    if (!drafted.ok) {
      console.log(`draft: ${drafted.status}`);
      return turn({ patience: 'short', remarks: [] });
    }
    const remarks = unwrap(await within.runTool(assess, drafted.value, { operationTimeoutMs: 5_000 }));
    console.log(`draft: ${drafted.value}`);
    if (remarks.length === 0) return { done: drafted.value };
    console.log(`  ${remarks.join('; ')}`);
    return turn({ patience: 'short', remarks });
  },
  { maxTurns: 8 },
);
console.log(`accepted after ${turns.length} turns: ${value}`);

await scope.shutdown();
await supervisor.close();
