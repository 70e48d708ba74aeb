// What an assessor has against a draft.
const RULES = [
  ['name a figure', /\d/],
  ['say what follows', /we \w+/],
];

export default function assess(draft) {
  return RULES.filter(([, expected]) => !expected.test(draft)).map(([remark]) => remark);
}
