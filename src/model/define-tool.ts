/**
 * `defineTool`: checks a definition once and freezes it.
 *
 * Invariants: a tool that leaves here is complete; its module is a file URL or a package specifier, never relative, so
 * it means the same in every isolate. Deliberately absent: loading the module, or looking whether it exists: that is
 * the isolate's, and a missing one fails its own request.
 */
import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { invalidOption, LeaseholdError } from './errors.ts';
import { durationOr, refuseUnknown } from './option-checks.ts';
import type { Tool, ToolDefinition } from './tool.ts';

const NAME = /^[a-z][a-z0-9._-]{0,63}$/;
const EFFECTS = ['none', 'declared', 'opaque'] as const;
const FIELDS = new Set([
  'name',
  'module',
  'exportName',
  'input',
  'output',
  'effects',
  'isolation',
  'runTimeoutMs',
  'graceMs',
  'secrets',
]);

/**
 * Describes a tool. `runTimeoutMs` and `graceMs` are in milliseconds, finite and above 0; without them the supervisor's
 * defaults hold. A package specifier is resolved from the working directory.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the field, `ERR_LEASEHOLD_NOT_AVAILABLE` for
 * `isolation: 'process'` and `permissions`.
 */
export function defineTool<I extends z.ZodType, O extends z.ZodType = z.ZodType>(
  definition: ToolDefinition<I, O>,
): Tool<z.input<I>, z.output<O>> {
  if (typeof definition !== 'object' || definition === null) throw invalidOption('definition', definition, 'an object');
  refuseUnknown(definition, FIELDS, new Set(['permissions']), 'defineTool');
  const { name, exportName = 'default', input, output, effects, isolation = 'thread', secrets } = definition;
  if (typeof name !== 'string' || !NAME.test(name))
    throw invalidOption('name', name, `a string matching ${NAME.source}`);
  if (typeof exportName !== 'string' || exportName === '')
    throw invalidOption('exportName', exportName, 'a non-empty string');
  if (!isSchema(input)) throw invalidOption('input', input, 'a Zod schema');
  if (output !== undefined && !isSchema(output)) throw invalidOption('output', output, 'a Zod schema');
  if (!EFFECTS.includes(effects)) {
    throw invalidOption(
      'effects',
      effects,
      `given, since it has no default: ${EFFECTS.map((e) => `'${e}'`).join(', ')}`,
    );
  }
  if (isolation === 'process') {
    throw new LeaseholdError('NOT_AVAILABLE', `Tool "${name}": isolation 'process' is not available in this version.`);
  }
  if (isolation !== 'thread') throw invalidOption('isolation', isolation, "'thread' or 'process'");
  if (secrets !== undefined && typeof secrets !== 'function') throw invalidOption('secrets', secrets, 'a function');
  return Object.freeze<Tool<z.input<I>, z.output<O>>>({
    name,
    module: moduleAddress(definition.module),
    exportName,
    input,
    output: output ?? null,
    effects,
    isolation,
    runTimeoutMs: durationOr('runTimeoutMs', definition.runTimeoutMs, null),
    graceMs: durationOr('graceMs', definition.graceMs, null),
    secrets: (secrets as Tool['secrets'] | undefined) ?? null,
  });
}

function isSchema(x: unknown): boolean {
  return typeof x === 'object' && x !== null && '_zod' in x && 'safeParse' in x;
}

function moduleAddress(module: unknown): string {
  const accepted = "a file URL, an absolute path or a package specifier, such as new URL('./tool.js', import.meta.url)";
  if (module instanceof URL) {
    if (module.protocol !== 'file:') throw invalidOption('module', module.protocol, accepted);
    return module.href;
  }
  if (typeof module !== 'string' || module === '') throw invalidOption('module', module, accepted);
  if (module.startsWith('file:')) {
    if (!URL.canParse(module)) throw invalidOption('module', module, accepted);
    return new URL(module).href;
  }
  if (isAbsolute(module)) return pathToFileURL(module).href;
  if (/^\.{1,2}([\\/]|$)/.test(module)) throw invalidOption('module', module, `not a relative path but ${accepted}`);
  if (/^[a-z][a-z0-9+.-]*:/i.test(module)) throw invalidOption('module', module, accepted);
  return resolvePackage(module);
}

/**
 * An isolate would look for packages beside this library, not beside the application. A package that only `import` may
 * see cannot be resolved here synchronously; its specifier is kept, and the isolate resolves it from where it stands.
 */
function resolvePackage(specifier: string): string {
  try {
    const file = createRequire(join(process.cwd(), 'tool')).resolve(specifier);
    return isAbsolute(file) ? pathToFileURL(file).href : specifier;
  } catch {
    return specifier;
  }
}
