/**
 * Labels as anybody may see them.
 *
 * Invariant: names and values pass the one door of all text; frozen. Deliberately absent: their limits
 * (`model/request-options.ts`).
 */
import type { Tool } from '../model/tool.ts';
import type { Redactor } from '../output/redaction.ts';

type Labels = Readonly<Record<string, string>>;

export function redactedLabels(labels: Labels, redactor: Redactor): Labels {
  for (const _ in labels) return Object.freeze(redactor.plain(labels) as Labels);
  return labels;
}

/** Those of a request whose input nobody has asked for its secrets yet: none, where it may hold some. */
export function startingLabels({ secrets }: Pick<Tool, 'secrets'>, labels: Labels): Labels {
  return secrets === null ? labels : NO_LABELS;
}
const NO_LABELS: Labels = Object.freeze({});
