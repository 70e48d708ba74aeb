/**
 * Permissions: what of the machine a process isolate may reach, where Node has a permission model.
 *
 * Invariant: what is not granted is refused by Node itself; nothing is granted that was not asked for, apart from reading
 * the files the isolate itself consists of. Deliberately absent: networks, which the model does not cover on every line.
 */
import { invalidOption, LeaseholdError } from './errors.ts';
import { isString, listOf, nested } from './option-checks.ts';

export interface Permissions {
  /** Absolute paths that may be read; `*` for all. What the module imports has to be among them. Default none. */
  readonly fsRead?: readonly string[];
  /** Absolute paths that may be written; `*` for all. Default none. */
  readonly fsWrite?: readonly string[];
  /** Default false. */
  readonly childProcess?: boolean;
  /** Default false. */
  readonly worker?: boolean;
}

const NAMES: ReadonlySet<string> = new Set(['fsRead', 'fsWrite', 'childProcess', 'worker']);

/** The flag that turns the model on in this Node, or null where there is none. */
export const PERMISSION_FLAG: string | null =
  ['--permission', '--experimental-permission'].find((flag) => process.allowedNodeEnvironmentFlags.has(flag)) ?? null;

/**
 * The permissions completed and frozen, or null when none were given, which is no restriction.
 * @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION`, `ERR_LEASEHOLD_NOT_AVAILABLE` where Node has no permission model
 */
export function permissionsOf(value: Permissions | undefined): Required<Permissions> | null {
  if (value === undefined) return null;
  const given = nested<Permissions>('permissions', value, NAMES);
  if (PERMISSION_FLAG === null) {
    throw new LeaseholdError('NOT_AVAILABLE', 'Option "permissions" needs a Node with a permission model.');
  }
  return Object.freeze({
    fsRead: listOf('permissions.fsRead', given.fsRead, isString, 'strings'),
    fsWrite: listOf('permissions.fsWrite', given.fsWrite, isString, 'strings'),
    childProcess: flagOr('permissions.childProcess', given.childProcess),
    worker: flagOr('permissions.worker', given.worker),
  });
}

function flagOr(name: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value === 'boolean') return value;
  throw invalidOption(name, value, 'true or false');
}
