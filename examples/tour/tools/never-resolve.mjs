export default function neverResolve() {
  return new Promise(() => {});
}
