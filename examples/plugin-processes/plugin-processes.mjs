// Plugins in processes: whatever one of them does to its process costs that run alone.
//
//   node examples/plugin-processes/plugin-processes.mjs
//
// In threads the first two would end this program, and the third would hold its exit for a minute.
import { createSupervisor, defineTool, isLeaseholdError } from 'leasehold';
import { z } from 'zod';

const terms = { input: z.string(), output: z.string(), effects: 'none', isolation: 'process', graceMs: 100 };

/** Without permissions where Node has none to give: a choice of this program, which the library never makes. */
function plugin(name, { runTimeoutMs = 10_000, ...permissions } = {}) {
  const module = new URL(`./plugins/${name}.mjs`, import.meta.url);
  const definition = { ...terms, name, module, runTimeoutMs };
  try {
    return defineTool({ ...definition, permissions });
  } catch (error) {
    if (!isLeaseholdError(error) || error.code !== 'ERR_LEASEHOLD_NOT_AVAILABLE') throw error;
    return defineTool(definition);
  }
}

const plugins = [
  plugin('crash'),
  plugin('abort'),
  plugin('block', { runTimeoutMs: 500, childProcess: true }),
  plugin('hog'),
  plugin('pry'),
  plugin('upper'),
];

const resourceLimits = { maxOldGenerationSizeMb: 64 };
const supervisor = createSupervisor({ isolates: 1, standby: 0, limits: { process: 2 }, resourceLimits });
const results = await Promise.all(plugins.map((tool) => supervisor.runTool(tool, 'hello')));

for (const { request, status, ok, value, error } of results) {
  console.log(`${request.tool}: ${status}, ${ok ? value : error.message.split('\n')[0]}`);
}
const { abandoned } = await supervisor.close();
console.log(`this program goes on; ${abandoned.length} processes are left`);
