export default function loopForever() {
  for (;;);
}
