/**
 * The process entry: the program that Node runs in a process isolate.
 *
 * Invariants: it is an isolate once it has read its terms, which no argument and no environment tells; a stop that was read
 * before its run begins takes that run back. It ends when the link to its host does.
 * Deliberately absent: a defence of the busy loop of a tool that never asks its context anything against the host's death:
 * Node reads nothing meanwhile. Such a process carries the host's marker, by which it is found.
 */
import { type HostMessage, type InstallMessage, WORD, WORDS } from '../src/wire/protocol.ts';
import { assemble } from './assembly.ts';
import { openFrameLink } from './frame-link.ts';
import { atomicsStore } from './references.ts';

/** Where the host puts the far end of the link. */
const CHANNEL_FD = 3;

const words = new Int32Array(WORDS);
const link = openFrameLink(CHANNEL_FD);
link.peek = (message) => {
  if (message.t === 'stop') atomicsStore(words, WORD.STOP, message.seq);
};
link.listen((message: HostMessage | InstallMessage) => {
  if (message.t !== 'install') return;
  assemble(
    {
      ...link,
      listen: (take) =>
        link.listen((next) => {
          // A stop may be here already.
          if (next.t === 'run') link.look();
          take(next);
        }),
    },
    message,
    words,
  ).post({ t: 'installed' });
});
