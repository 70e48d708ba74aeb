export default function polluteAGlobal() {
  globalThis.leftBehind = 'for the next one';
  return 'done';
}
