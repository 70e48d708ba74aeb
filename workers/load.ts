/**
 * Load: a tool's module, imported in the isolate and kept.
 *
 * Invariants: a module is kept only once it loaded and has the export; loading fails its own request, with a message
 * that names the module by its last part and never by its path. Every settled load makes a new baseline.
 * Deliberately absent: unloading. A module lives as long as its isolate.
 */
import { type Failure, toFailure } from '../src/wire/failure.ts';
import type { RunMessage } from '../src/wire/protocol.ts';
import { create, uncurry } from '../src/wire/uncurried.ts';
import type { ToolContext } from './index.ts';
import type { Probes } from './probes.ts';
import { Error } from './references.ts';

type Hook = () => unknown;
export interface LoadedTool {
  readonly run: (input: unknown, context: ToolContext) => unknown;
  readonly reset: Hook | null;
  readonly healthCheck: Hook | null;
}

export interface Loader {
  /** The tool, when its module was loaded before. */
  known(message: RunMessage): LoadedTool | null;
  /** Imports the module. Rejects with what `loadFailure` describes. */
  load(message: RunMessage): Promise<LoadedTool>;
}

export function openLoader(probes: Pick<Probes, 'rebase'>): Loader {
  const kept = create(null) as Record<string, LoadedTool>;
  const keyOf = ({ module, exportName }: RunMessage): string => `${module} ${exportName}`;
  return {
    known: (message) => kept[keyOf(message)] ?? null,
    async load(message) {
      let exports: Record<string, unknown>;
      try {
        exports = (await import(message.module)) as Record<string, unknown>;
      } finally {
        probes.rebase();
      }
      const { reset, healthCheck, [message.exportName]: run } = exports;
      if (typeof run !== 'function') {
        throw new Error(run === undefined ? 'there is no such export' : 'the export is not a function');
      }
      const tool: LoadedTool = {
        run: run as LoadedTool['run'],
        reset: typeof reset === 'function' ? (reset as Hook) : null,
        healthCheck: typeof healthCheck === 'function' ? (healthCheck as Hook) : null,
      };
      kept[keyOf(message)] = tool;
      return tool;
    },
  };
}

const replace = uncurry(String.prototype.replace as (this: string, pattern: RegExp, by: string) => string);
/** Everything of a path or file URL up to its last part. */
const DIRECTORIES = /(?:file:\/\/)?(?:[A-Za-z]:)?[\\/](?:[^\\/\s'"`]+[\\/])+/g;

/** Describes why a module could not be used. */
export function loadFailure(error: unknown, { module, exportName }: RunMessage): Failure {
  const failure = toFailure(error, 'TOOL_LOAD');
  const name = replace(module, /^.*[\\/]/s, '');
  const reason = replace(failure.message, DIRECTORIES, '');
  return { ...failure, message: `The tool module ${name} (export ${exportName}) cannot be used: ${reason}` };
}
