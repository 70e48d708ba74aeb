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
import { invalidOption } from './errors.ts';
import { countOr, durationOr, functionOr, nested, refuseUnknown, wordOr } from './option-checks.ts';
import type { OutputLimits } from './option-shapes.ts';
import { permissionsOf } from './permissions.ts';
import type { OutputRules, Tool, ToolDefinition, ToolTerms } from './tool.ts';

const NAME = /^[a-z][a-z0-9._-]{0,63}$/;
const EFFECTS = ['none', 'declared', 'opaque'] as const;
const TERMS = ['name', 'input', 'runTimeoutMs', 'graceMs', 'secrets'] as const;
const FIELDS: ReadonlySet<string> = new Set([
  ...TERMS,
  ...['module', 'exportName', 'output', 'effects', 'isolation', 'permissions', 'outputLimits', 'onLimit', 'encoding'],
]);
const LIMITS: ReadonlySet<string> = new Set([
  ...['stdoutBytes', 'stderrBytes', 'combinedBytes', 'postKillBytes', 'readBytes'],
]);

/**
 * Describes a tool. `runTimeoutMs` and `graceMs` are in milliseconds, finite and above 0; without them the supervisor's
 * defaults hold. A package specifier is resolved from the working directory.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` naming the field, `ERR_LEASEHOLD_NOT_AVAILABLE` for `permissions`
 * where Node has no permission model.
 */
export function defineTool<I extends z.ZodType, O extends z.ZodType = z.ZodType>(
  definition: ToolDefinition<I, O>,
): Tool<z.input<I>, z.output<O>> {
  const terms = toolTerms(definition, FIELDS, 'defineTool');
  const { exportName = 'default', output, effects, permissions, outputLimits } = definition;
  if (typeof exportName !== 'string' || exportName === '')
    throw invalidOption('exportName', exportName, 'a non-empty string');
  if (output !== undefined && !isSchema(output)) throw invalidOption('output', output, 'a Zod schema');
  const isolation = wordOr('isolation', definition.isolation, ['thread', 'process'], 'thread');
  if (permissions !== undefined && isolation !== 'process') {
    throw invalidOption('permissions', permissions, "given only with isolation 'process'");
  }
  return Object.freeze<Tool<z.input<I>, z.output<O>>>({
    ...terms,
    work: Object.freeze({ kind: 'module', module: moduleAddress(definition.module), exportName }),
    output: output ?? null,
    effects: effectsOf(effects, EFFECTS),
    isolation,
    permissions: permissionsOf(permissions),
    outputRules: outputRules('outputLimits', outputLimits, definition),
  });
}

/** Checks what the definitions of all tools have in common. `fields`: every name the definition may have. */
export function toolTerms<I extends z.ZodType>(
  definition: ToolTerms<I>,
  fields: ReadonlySet<string>,
  of: string,
): Pick<Tool, 'name' | 'input' | 'runTimeoutMs' | 'graceMs' | 'secrets'> {
  if (typeof definition !== 'object' || definition === null) throw invalidOption('definition', definition, 'an object');
  refuseUnknown(definition, fields, of);
  const { name, input, secrets } = definition;
  if (typeof name !== 'string' || !NAME.test(name))
    throw invalidOption('name', name, `a string matching ${NAME.source}`);
  if (!isSchema(input)) throw invalidOption('input', input, 'a Zod schema');
  return {
    name,
    input,
    runTimeoutMs: durationOr('runTimeoutMs', definition.runTimeoutMs, null),
    graceMs: durationOr('graceMs', definition.graceMs, null),
    secrets: functionOr('secrets', secrets as Tool['secrets'] | undefined),
  };
}

/** One of the effects that this kind of tool can declare. */
export function effectsOf<E extends Tool['effects']>(effects: unknown, known: readonly E[]): E {
  const found = known.find((word) => word === effects);
  if (found !== undefined) return found;
  const accepted = known.map((word) => `'${word}'`).join(', ');
  throw invalidOption('effects', effects, `given, since it has no default: ${accepted}`);
}

/** `name`: how the definition calls its limits. */
export function outputRules(
  name: string,
  limits: Partial<OutputLimits> | undefined,
  rules: { readonly onLimit?: unknown; readonly encoding?: unknown },
  readStderr: OutputRules['readStderr'] = null,
): OutputRules {
  const given = Object.entries(nested<Partial<OutputLimits>>(name, limits, LIMITS)).filter(
    ([, bytes]) => bytes !== undefined,
  );
  return Object.freeze({
    limits: Object.freeze(Object.fromEntries(given.map(([key, bytes]) => [key, countOr(`${name}.${key}`, bytes, 0)]))),
    onLimit: wordOr('onLimit', rules.onLimit, ['truncate', 'stop'], 'truncate'),
    encoding: wordOr('encoding', rules.encoding, ['utf8', 'bytes'], 'utf8'),
    readStderr,
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
