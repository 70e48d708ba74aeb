/**
 * Findings as a result tells them: judged, redacted, bounded and frozen.
 *
 * Invariant: which of them condemn is decided in `decide/condemn.ts` alone; where there are many, each kind is told once, with
 * their number, so that none hides another. Deliberately absent: looking.
 */
import { judge } from '../decide/condemn.ts';
import type { Finding, FindingKind } from '../model/result.ts';
import { boundText, TEXT_LIMITS } from '../output/bounded.ts';
import type { Redactor } from '../output/redaction.ts';
import type { WireFinding } from '../wire/protocol.ts';

/** Findings of one kind. */
interface Kind {
  readonly kind: FindingKind;
  readonly count: number;
  /** Of the first few. */
  readonly details: readonly string[];
}
const FEW = 8;

export function judged(
  findings: readonly WireFinding[],
  policy: Readonly<Partial<Record<FindingKind, boolean>>>,
  redactor: Redactor,
): readonly Finding[] {
  const told = (findings.length > TEXT_LIMITS.findings ? merged(findings) : findings.map(apart)).map(
    ({ kind, count, details }): WireFinding => {
      const words = details.map((detail) => redactor.text(detail, { end: true })).join(', ');
      const detail = count === 1 ? words : `${count} in all: ${words}`;
      return details.length === 0 ? { kind } : { kind, detail: boundText(detail, TEXT_LIMITS.logLineBytes) };
    },
  );
  return Object.freeze(judge(told, policy).map((finding) => Object.freeze(finding)));
}

function apart({ kind, detail }: WireFinding): Kind {
  return { kind, count: 1, details: detail === undefined ? [] : [detail] };
}

function merged(findings: readonly WireFinding[]): Kind[] {
  const kinds = new Map<FindingKind, { kind: FindingKind; count: number; details: string[] }>();
  for (const { kind, detail = '' } of findings) {
    const known = kinds.get(kind) ?? { kind, count: 0, details: [] };
    known.count += 1;
    if (known.details.length < FEW) known.details.push(detail);
    kinds.set(kind, known);
  }
  return [...kinds.values()];
}
