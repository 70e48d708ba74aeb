/**
 * Draws the charts for the documents: a machine as a Mermaid state diagram, and a document with its diagrams renewed.
 *
 * Invariant: the text follows from the machine alone, so a document that differs has drifted.
 * Deliberately absent: files. `diagrams.mjs` writes, a test compares.
 */
import type { AnyStateMachine } from 'xstate';
import { isolateMachine, leaseMachine, supervisorMachine } from '../machines/index.ts';

/** The document that holds the diagrams, from the root of the project. */
export const DOCUMENT = '.github/ARCHITECTURE.md';

const drawn: Readonly<Record<string, AnyStateMachine>> = {
  supervisor: supervisorMachine,
  isolate: isolateMachine,
  lease: leaseMachine,
};

/** A flat machine as a `stateDiagram-v2`: one arrow for each pair of states and guard, its events joined. */
export function mermaid(machine: AnyStateMachine): string {
  const { root } = machine;
  const lines = ['stateDiagram-v2'];
  for (const target of root.initial.target ?? []) lines.push(`  [*] --> ${target.key}`);
  for (const node of Object.values(root.states)) {
    const arrows = new Map<string, { readonly arrow: string; readonly guard: string; readonly events: string[] }>();
    for (const [event, transitions] of node.transitions) {
      transitions.forEach(({ target, guard }, index) => {
        const arrow = `${node.key} --> ${target?.[0]?.key ?? node.key}`;
        const condition = typeof guard === 'string' ? ` [${guard}]` : index > 0 ? ' [else]' : '';
        const known = arrows.get(arrow + condition);
        if (known === undefined) arrows.set(arrow + condition, { arrow, guard: condition, events: [event] });
        else known.events.push(event);
      });
    }
    for (const { arrow, guard, events } of arrows.values()) lines.push(`  ${arrow} : ${events.join(', ')}${guard}`);
    if (node.type === 'final') lines.push(`  ${node.key} --> [*]`);
  }
  const everywhere = [...root.transitions.keys()];
  const first = root.initial.target?.[0]?.key;
  if (everywhere.length > 0) lines.push(`  note right of ${first} : every state also takes ${everywhere.join(', ')}`);
  return lines.join('\n');
}

/**
 * The document with the diagram of each machine between its markers, `<!-- diagram:NAME -->` and `<!-- /diagram:NAME -->`.
 *
 * @throws Error when a pair of markers is missing.
 */
export function withDiagrams(document: string): string {
  let text = document;
  for (const [name, machine] of Object.entries(drawn)) {
    const [open, close] = [`<!-- diagram:${name} -->`, `<!-- /diagram:${name} -->`];
    const [from, to] = [text.indexOf(open), text.indexOf(close)];
    if (from < 0 || to < from) throw new Error(`${DOCUMENT} lacks the markers ${open} and ${close}`);
    const diagram = `\n\n\`\`\`mermaid\n${mermaid(machine)}\n\`\`\`\n\n`;
    text = text.slice(0, from + open.length) + diagram + text.slice(to);
  }
  return text;
}
