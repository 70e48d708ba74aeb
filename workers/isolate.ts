/**
 * The thread entry: what Piscina loads as its task file, once per isolate.
 *
 * Invariants: every reference and the first baseline are taken before any code of a tool is loaded; the install task
 * returns at once (one that never returned would hold the host open for ever), and from then on the port alone keeps the
 * thread alive. Uncaught errors are taken by the capture callback, which no removal of listeners reaches.
 * Deliberately absent: an end. A thread is ended by its host.
 */
import type { MessagePort } from 'node:worker_threads';
import { type Channel, openChannel } from '../src/wire/channel.ts';
import type { CallMessage, HostCalls, HostMessage, Installed, InstallTask } from '../src/wire/protocol.ts';
import { captureOutput } from './capture.ts';
import { follow } from './followed.ts';
import { installPlainEnv } from './intrinsics.ts';
import { openLoader } from './load.ts';
import { openOutbox } from './outbox.ts';
import { openProbes } from './probes.ts';
import { receiveMessageOnPort, threadId } from './references.ts';
import { type Calls, openServer } from './serve.ts';

/** Makes this thread an isolate. Answers when it is ready to serve. */
export default function install(task: InstallTask): Installed {
  const { port } = task;
  const words = new Int32Array(task.words);
  const outbox = openOutbox(port, task.nonce, words);
  installPlainEnv();
  const capture = captureOutput(outbox, task.tailBytes);
  const followed = follow((pid, alive) => outbox.post({ t: 'child', pid, alive }));
  const toHost = (d: unknown): void => outbox.post({ t: 'call', d });
  /** Of the lease in progress, or of the last one. */
  let calls = openCalls<HostCalls>(toHost);

  const take = (message: HostMessage): void => {
    if (message.t === 'run') server.run(message);
    else if (message.t === 'stop') server.stop(message);
    else if (message.t === 'call') calls.receive(message);
    else if (message.t === 'hook') hooks.receive(message);
  };
  port.on('message', take);
  // An active port counts as a resource, so the baseline comes after it.
  const probes = openProbes(followed);
  const server = openServer({
    words,
    health: task.health,
    outbox,
    capture,
    probes,
    loader: openLoader(probes),
    readPort: () => readPort(port, take),
    openCalls: () => (calls = openCalls<HostCalls>(toHost)),
  });
  const hooks = openCalls((d) => outbox.post({ t: 'hook', d }), server.hooks);
  process.setUncaughtExceptionCaptureCallback((error) => server.fatal(error));
  return { threadId };
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

function readPort(port: MessagePort, take: (message: HostMessage) => void): void {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    take(next.message as HostMessage);
  }
}
