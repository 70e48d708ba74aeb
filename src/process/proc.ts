/**
 * Reading Linux's `/proc`.
 *
 * Invariants: a process that ends while it is read is as if it had not been there; nothing here can wait for another
 * process on the host's loop, so the environment, which can, is read off it.
 * Deliberately absent: which processes are looked for, and signals.
 */
import { opendirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** A line of `/proc/PID/stat`. */
export interface ProcessStat {
  readonly pid: number;
  readonly name: string;
  /** One letter; `Z` and `X` are dead. */
  readonly state: string;
  /** 1, or another that takes in orphans, once its own has ended. */
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since the boot of the machine. */
  readonly startTime: number;
}

/** Descriptors looked at in one process. Inherited ones are the low ones, and a server may have a million. */
const MOST_DESCRIPTORS = 1_024;

/** Null when there is no such process. @throws when `/proc` cannot be read for another reason */
export function statOf(pid: number): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Null when the text is not a line of `stat`. */
export function parseStat(text: string): ProcessStat | null {
  // A name may hold spaces, parentheses and anything else but a NUL byte: it ends at the last parenthesis.
  const from = text.indexOf('(');
  const to = text.lastIndexOf(')');
  if (from < 0 || to < from) return null;
  const fields = text.slice(to + 2).split(' ');
  const pid = Number.parseInt(text, 10);
  const [parent = Number.NaN, group = Number.NaN, session = Number.NaN] = fields.slice(1, 4).map(Number);
  const startTime = Number(fields[19]);
  if (![pid, parent, group, session, startTime].every(Number.isSafeInteger)) return null;
  const name = text.slice(from + 1, to).replace(/[^\x20-\x7e]/g, '?');
  return { pid, name, state: fields[0] ?? '', parent, group, session, startTime };
}

export function isAlive({ state }: ProcessStat): boolean {
  return state !== 'Z' && state !== 'X' && state !== 'x';
}

/** Every process that can be seen, in the order of their pids. @throws when `/proc` cannot be read */
export function processes(): ProcessStat[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => statOf(Number(pid)) ?? []);
}

/** What descriptors 1 and 2 of a process are, apart from devices; empty when it cannot be seen, or has ended. */
export function outputLinks(pid: number): string[] {
  const links = ['1', '2'].map((descriptor) => linkOf(pid, descriptor));
  return links.filter((link): link is string => link !== null && /^(socket|pipe):/.test(link));
}

/** Whether a process holds one of `links`. False when it may not be seen. */
export function holdsOne(pid: number, links: ReadonlySet<string>): boolean {
  if (links.size === 0) return false;
  try {
    const folder = opendirSync(`/proc/${pid}/fd`);
    try {
      for (let count = 0; count < MOST_DESCRIPTORS; count += 1) {
        const entry = folder.readSync();
        if (entry === null) return false;
        if (links.has(linkOf(pid, entry.name) ?? '')) return true;
      }
      return false;
    } finally {
      folder.closeSync();
    }
  } catch {
    return false;
  }
}

/** Reads of an environment under way, by pid. One can wait for as long as the process is stuck in the kernel. */
const reading = new Map<number, Promise<string>>();

/** The entries of the environment a process was started with; none when it may not be seen. */
export async function environmentOf(pid: number): Promise<readonly string[]> {
  try {
    return (await readEnvironment(pid)).split('\0');
  } catch {
    return [];
  }
}

/** A process that is stuck keeps one thread of the pool, however often it is asked for. */
function readEnvironment(pid: number): Promise<string> {
  const known = reading.get(pid);
  if (known !== undefined) return known;
  const read = readFile(`/proc/${pid}/environ`, 'latin1').finally(() => reading.delete(pid));
  reading.set(pid, read);
  return read;
}

function linkOf(pid: number, descriptor: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`);
  } catch {
    return null;
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ESRCH';
}
