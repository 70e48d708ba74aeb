/**
 * Assembly: the parts of an isolate, put together around its link to the host.
 *
 * Invariants: every reference and the first baseline are taken before any code of a tool is loaded; from then on the
 * link alone keeps the isolate alive. Uncaught errors are taken by the capture callback, which no removal of listeners
 * reaches.
 * Deliberately absent: what differs between a thread and a process (`isolate.ts`, `process.ts`), and an end.
 */
import { type Channel, openChannel } from '../src/wire/channel.ts';
import type { CallMessage, HostCalls, HostMessage, InstallTerms } from '../src/wire/protocol.ts';
import { captureOutput } from './capture.ts';
import { follow } from './followed.ts';
import { installPlainEnv } from './intrinsics.ts';
import type { Link } from './link.ts';
import { openLoader } from './load.ts';
import { type Outbox, openOutbox } from './outbox.ts';
import { openProbes } from './probes.ts';
import { type Calls, openServer } from './serve.ts';

/** Makes an isolate of this thread or process. It is ready to serve when this returns. */
export function assemble(link: Link, terms: InstallTerms, words: Int32Array): Outbox {
  const outbox = openOutbox(link, terms.nonce, words);
  installPlainEnv();
  const capture = captureOutput(outbox, terms.tailBytes);
  // Before the link's own last chance to write.
  process.prependListener('exit', () => {
    capture.flush();
    outbox.onFlushed();
  });
  const followed = follow((pid, alive) => outbox.post({ t: 'child', pid, alive }));
  const toHost = (d: unknown): void => outbox.post({ t: 'call', d });
  /** Of the lease in progress, or of the last one. */
  let calls = openCalls<HostCalls>(toHost);

  link.listen((message: HostMessage) => {
    if (message.t === 'run') server.run(message);
    else if (message.t === 'stop') server.stop(message);
    else if (message.t === 'call') calls.receive(message);
    else if (message.t === 'hook') hooks.receive(message);
  });
  // An active port counts as a resource, so the baseline comes after it.
  const probes = openProbes(followed);
  const server = openServer({
    link,
    words,
    health: terms.health,
    outbox,
    capture,
    probes,
    loader: openLoader(probes),
    openCalls: () => (calls = openCalls<HostCalls>(toHost)),
  });
  const hooks = openCalls((d) => outbox.post({ t: 'hook', d }), server.hooks);
  process.setUncaughtExceptionCaptureCallback((error) => server.fatal(error));
  return outbox;
}

interface LazyChannel<Remote extends object> extends Calls<Remote> {
  receive(message: CallMessage): void;
}

/** A channel made when it is first needed. */
function openCalls<Remote extends object>(post: (d: unknown) => void, methods?: object): LazyChannel<Remote> {
  let channel: Channel<Remote> | null = null;
  let ended: string | null = null;
  const open = (): Channel<Remote> => {
    if (channel !== null) return channel;
    channel = openChannel<Remote>({ post, expose: methods });
    if (ended !== null) channel.end(ended);
    return channel;
  };
  return {
    remote: () => open().remote,
    receive: ({ d }) => open().receive(d),
    end(reason) {
      ended = reason;
      channel?.end(reason);
    },
  };
}
