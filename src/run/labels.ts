/**
 * Labels as anybody may see them.
 *
 * Invariant: names and values pass the one door of all text; frozen. Deliberately absent: their limits
 * (`model/request-options.ts`).
 */
import type { Redactor } from '../output/redaction.ts';

type Labels = Readonly<Record<string, string>>;

export function redactedLabels(labels: Labels, redactor: Redactor): Labels {
  for (const _ in labels) return Object.freeze(redactor.plain(labels) as Labels);
  return labels;
}
