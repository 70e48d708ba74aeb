/**
 * The thread entry: what Piscina loads as its task file, once per isolate.
 *
 * Invariants: the install task returns at once (one that never returned would hold the host open for ever), and from then
 * on the port alone keeps the thread alive; records leave by the port's own `postMessage` of boot time.
 * Deliberately absent: an end. A thread is ended by its host.
 */
import type { MessagePort } from 'node:worker_threads';
import { CREDIT_BYTES, type HostMessage, type Installed, type InstallTask } from '../src/wire/protocol.ts';
import { assemble } from './assembly.ts';
import type { Link } from './link.ts';
import { postMessage, receiveMessageOnPort, threadId } from './references.ts';

const BESIDE_BYTES = 64;

/** Makes this thread an isolate. Answers when it is ready to serve. */
export default function install(task: InstallTask): Installed {
  assemble(portLink(task.port), task, new Int32Array(task.words));
  return { threadId };
}

function portLink(port: MessagePort): Link {
  let take: (message: HostMessage) => void = () => undefined;
  return {
    sharesWords: true,
    besideBytes: BESIDE_BYTES,
    sureBytes: CREDIT_BYTES,
    isBehind: null,
    poll: null,
    glance: null,
    send: (record) => postMessage(port, record),
    listen(hear) {
      take = hear;
      port.on('message', hear);
    },
    readNow() {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
        take(next.message as HostMessage);
      }
    },
  };
}
