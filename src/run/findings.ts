/**
 * Findings as a result tells them: judged, redacted, bounded and frozen.
 *
 * Invariant: which of them condemn is decided in `decide/condemn.ts` alone. Deliberately absent: looking.
 */
import { judge } from '../decide/condemn.ts';
import type { Finding, FindingKind } from '../model/result.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';
import type { WireFinding } from '../wire/protocol.ts';

export function judged(
  findings: readonly WireFinding[],
  policy: Readonly<Partial<Record<FindingKind, boolean>>>,
  redactor: Redactor,
): readonly Finding[] {
  const told = findings.map(({ kind, detail }) => ({
    kind,
    ...(detail === undefined ? {} : { detail: boundText(redactor.text(detail), TEXT_LIMITS.logLineBytes) }),
  }));
  return Object.freeze(judge(told, policy).map((finding) => Object.freeze(finding)));
}
