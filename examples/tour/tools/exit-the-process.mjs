export default function exitTheProcess() {
  process.exit(3);
}
