// Figures as text: one table per question, the median of the rounds, their range, and the ratio to the reference.
import { median } from './rounds.mjs';

export function printQuestion(question, variants) {
  console.log(`\n${question.title} [${question.unit}, ${question.better} is better]`);
  for (const { variant, figures } of variants) {
    if (variant) console.log(`  ${variant}`);
    const reference = figures[question.reference];
    for (const [name, raw] of Object.entries(figures)) {
      const ratio = reference ? `${(median(raw) / median(reference)).toFixed(2)} x` : '';
      const range = `${short(Math.min(...raw))} to ${short(Math.max(...raw))}`;
      console.log(
        `    ${name.padEnd(26)} ${short(median(raw)).padStart(10)}   ${range.padEnd(24)} ${ratio.padStart(8)}`,
      );
    }
  }
  for (const line of verdicts(question, variants)) console.log(`  ${line}`);
}

/** What became of the targets, in words. */
export function verdicts(question, variants) {
  return (question.targets ?? []).map(({ variant, contender, atMost, atLeast }) => {
    const { figures } = variants.find((one) => one.variant === variant);
    const ratio = median(figures[contender]) / median(figures[question.reference]);
    const met = atMost === undefined ? ratio >= atLeast : ratio <= atMost;
    const target = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`;
    return `target: ${contender}${variant ? `, ${variant}` : ''}: ${target} x ${question.reference}: ${ratio.toFixed(2)}: ${met ? 'met' : 'MISSED'}`;
  });
}

function short(figure) {
  if (figure >= 1_000) return Math.round(figure).toLocaleString('en-US');
  return figure >= 10 ? figure.toFixed(1) : figure.toFixed(2);
}
