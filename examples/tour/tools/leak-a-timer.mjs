export default function leakATimer() {
  setInterval(() => {}, 5);
  return 'done';
}
