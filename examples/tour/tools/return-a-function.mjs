export default function returnAFunction() {
  return { answer: () => 42 };
}
