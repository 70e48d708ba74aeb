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
import { atomicsStore } from './references.ts';

/** Where the host puts the far end of the link. */
const CHANNEL_FD = 3;

const words = new Int32Array(WORDS);
const link = openFrameLink(CHANNEL_FD);
link.peek = (message) => {
  if (message.t === 'stop') atomicsStore(words, WORD.STOP, message.seq);
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
  if (message.t === 'install') watchHost(() => assemble(attentive, message, words).post({ t: 'installed' }));
});
