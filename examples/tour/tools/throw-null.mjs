export default function throwNull() {
  throw null;
}
