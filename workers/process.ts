/**
 * The process entry: the program that Node runs in a process isolate.
 *
 * Invariants: it is an isolate once it has read its terms, which no argument and no environment tells; a stop that was
 * read before its run begins takes that run back. It ends when the link to its host does, and where a tool keeps the
 * loop busy when the host has died (`host-watch.ts`). Deliberately absent: signal handlers; and an end while a call of
 * native code blocks every thread. What outlives a host carries its marker, by which it is found.
 */
import { type HostMessage, type InstallMessage, WORD, WORDS } from '../src/wire/protocol.ts';
import { assemble } from './assembly.ts';
import { openFrameLink } from './frame-link.ts';
import { watchHost } from './host-watch.ts';
import type { Link } from './link.ts';
import type { Outbox } from './outbox.ts';
import { atomicsAdd, atomicsStore } from './references.ts';

/** Where the host puts the far end of the link. */
const CHANNEL_FD = 3;

const words = new Int32Array(WORDS);
const link = openFrameLink(CHANNEL_FD);
let outbox: Outbox | null = null;
link.peek = (message) => {
  if (message.t === 'stop') atomicsStore(words, WORD.STOP, message.seq);
  else if (message.t === 'credit') {
    atomicsAdd(words, WORD.CREDIT, -message.bytes);
    outbox?.onCredit();
  }
};

/** A stop may be here beside the run. */
const attentive: Link = {
  ...link,
  listen: (take) =>
    link.listen((message) => {
      if (message.t === 'run') link.look();
      take(message);
    }),
};
link.listen((message: HostMessage | InstallMessage) => {
  if (message.t !== 'install') return;
  watchHost(() => {
    outbox = assemble(attentive, message, words);
    letNativeWritesWait();
    outbox.post({ t: 'installed' });
  });
});

/** Node's streams leave their descriptors unable to wait; native code that finds one full would lose what it writes. */
function letNativeWritesWait(): void {
  for (const stream of [process.stdout, process.stderr]) {
    (stream as { _handle?: { setBlocking?(isBlocking: boolean): void } })._handle?.setBlocking?.(true);
  }
}
