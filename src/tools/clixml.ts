/**
 * CLIXML: how PowerShell writes errors and warnings when its standard error is a pipe and its command was encoded.
 *
 * Invariants: total, linear and bounded; a text that is not CLIXML from its first to its last character, as far as this
 * file knows it, is given back as it came. Deliberately absent: objects, which become text or nothing here.
 */

const MARKER = '#< CLIXML';
/** Longer texts are kept as they are. Characters. */
const LONGEST = 4 * 1024 * 1024;
const DEEPEST = 64;

/** A start, an end or an empty element's tag. */
const TAG = /<(\/?)([A-Za-z][A-Za-z0-9]*)((?: [A-Za-z][A-Za-z0-9:]*="[^"<>]*")*) ?(\/?)>/y;
/** What stands before, between and after documents; it matches everywhere. */
const BETWEEN = /(?:\s|#< CLIXML)*/y;
const STREAM = / S="([A-Za-z]*)"/;
/** What a console shows before the text of each stream. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['error', ''],
  ['warning', 'WARNING: '],
  ['verbose', 'VERBOSE: '],
  ['debug', 'DEBUG: '],
]);
/** Records that a console does not show on standard error at all. */
const UNSHOWN: ReadonlySet<string> = new Set(['progress', 'information']);
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** The text as a console would show it, or the very text where it is not CLIXML or there is any doubt. */
export function readClixml(text: string): string {
  if (!text.startsWith(MARKER) || text.length > LONGEST) return text;
  return shownIn(text) ?? text;
}

/** Null: not understood. */
function shownIn(text: string): string | null {
  const shown: string[] = [];
  const open: string[] = [];
  /** What goes before the string that is open directly within a document; null where text is not shown. */
  let prefix: string | null = null;
  let at = 0;
  for (;;) {
    if (open.length === 0) {
      BETWEEN.lastIndex = at;
      BETWEEN.test(text);
      at = BETWEEN.lastIndex;
      if (at === text.length) return shown.join('');
    }
    const next = text.indexOf('<', at);
    if (next === -1) return null;
    const words = text.slice(at, next);
    if (prefix !== null) {
      const plain = plainText(words);
      if (plain === null) return null;
      shown.push(prefix, plain, prefix === '' ? '' : '\n');
    } else if (open.length < 2 && words.trim() !== '') return null;
    TAG.lastIndex = next;
    const tag = TAG.exec(text);
    if (tag === null) return null;
    const [whole, end, name = '', attributes = '', empty] = tag;
    at = next + whole.length;
    if (end !== '') {
      if (empty !== '' || attributes !== '' || open.pop() !== name) return null;
      prefix = null;
      continue;
    }
    // A string that is shown holds no element.
    if (prefix !== null || !mayStand(name, attributes, open.length)) return null;
    if (empty !== '') continue;
    if (open.push(name) > DEEPEST) return null;
    if (open.length === 2 && name === 'S') prefix = PREFIXES.get(streamOf(attributes)) ?? null;
  }
}

function mayStand(name: string, attributes: string, depth: number): boolean {
  if (depth === 0) return name === 'Objs';
  if (depth > 1) return true;
  return name === 'S' ? PREFIXES.has(streamOf(attributes)) : name === 'Obj' && UNSHOWN.has(streamOf(attributes));
}

function streamOf(attributes: string): string {
  return STREAM.exec(attributes)?.[1]?.toLowerCase() ?? '';
}

/** XML's references first, PowerShell's own escapes for UTF-16 units after: it escapes in the other order. */
function plainText(xml: string): string | null {
  let unknown = false;
  const text = xml.replace(/&(?:([a-z]+)|#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7})));|&/g, (whole, name, hex, decimal) => {
    const found = name === undefined ? characterOf(hex, decimal) : ENTITIES[name];
    unknown ||= found === undefined;
    return found ?? whole;
  });
  if (unknown) return null;
  const units = text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, unit) => String.fromCharCode(Number.parseInt(unit, 16)));
  return units.replace(/\p{Surrogate}/gu, '\ufffd');
}

function characterOf(hex: string | undefined, decimal: string | undefined): string | undefined {
  const point = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal);
  return point >= 1 && point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
}
