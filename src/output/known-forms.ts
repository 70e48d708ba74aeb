/**
 * The forms in which a value may stand in output: as it is, and as the usual encoders write it.
 *
 * Invariants: each form is stable, whatever stands around the value; encoded forms only where the value is long enough to be
 * told from innocent text. Deliberately absent: finding them (`form-matcher.ts`), and encodings nobody can foresee: hex,
 * compression, base64 broken into lines, one encoding inside another.
 */

/** Shorter values are known as they are only: their encodings would hide innocent text. UTF-16 units. */
const SHORTEST_ENCODED = 6;

/**
 * As it is; as inside a JSON string, also in ASCII; percent-encoded, as in a path and as in a form; base64 and base64url; in
 * XML and HTML, and in the CLIXML of PowerShell; and each line of several, trimmed, as a value of its own.
 */
export function formsOf(value: string): ReadonlySet<string> {
  const forms = new Set<string>();
  add(forms, value);
  const lines = value.split(/[\r\n\u2028\u2029]+/);
  for (const line of lines.length > 1 ? lines : []) {
    const trimmed = line.trim();
    if (trimmed.length >= SHORTEST_ENCODED) add(forms, trimmed);
  }
  return forms;
}

function add(forms: Set<string>, value: string): void {
  forms.add(value);
  if (value.length < SHORTEST_ENCODED) return;
  const json = JSON.stringify(value).slice(1, -1);
  forms.add(json).add(asciiOnly(json, lower)).add(asciiOnly(json, upper));
  const bytes = Buffer.from(value);
  // A lone surrogate has become a replacement character, as in everything that is written out; it has no other encoding.
  const sound = bytes.toString();
  for (const percent of [encodeURIComponent(sound), new URLSearchParams([['', sound]]).toString().slice(1)]) {
    forms.add(percent).add(percent.replace(/%[0-9A-F]{2}/g, lower));
  }
  for (const alignment of [0, 1, 2]) {
    const base64 = stableBase64(bytes, alignment);
    forms.add(base64).add(base64.replaceAll('+', '-').replaceAll('/', '_'));
  }
  const xml = inXml(value);
  const quoted = xml.replaceAll('"', '&quot;');
  forms.add(xml).add(quoted).add(quoted.replaceAll("'", '&apos;')).add(quoted.replaceAll("'", '&#39;'));
  forms.add(inXml(inClixml(value)));
}

/** As the text of an element. */
function inXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** What PowerShell escapes before XML does: controls, each half of a pair, and what reads like such an escape. */
function inClixml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
  return text.replace(/[\0-\x1f\x7f-\x9f\ud800-\udfff]|_(?=[xX])/g, (unit) => {
    return `_x${upper(unit.charCodeAt(0).toString(16)).padStart(4, '0')}_`;
  });
}

/** What base64 makes of `bytes` after `alignment` other ones, without the characters that its neighbours have a part in. */
function stableBase64(bytes: Buffer, alignment: number): string {
  const after = Buffer.concat([Buffer.alloc(alignment), bytes]);
  return after.toString('base64').slice(Math.ceil((alignment * 4) / 3), Math.floor((after.length * 4) / 3));
}

const lower = (s: string): string => s.toLowerCase();
const upper = (s: string): string => s.toUpperCase();

function asciiOnly(json: string, hexCase: (hex: string) => string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${hexCase(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`);
}
