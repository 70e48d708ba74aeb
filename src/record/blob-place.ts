/**
 * Places: where the blobs of a root are, `<root>/<SHA-256 of the tenant's name>/<SHA-256 of the bytes>`.
 *
 * Invariant: no name that somebody gave becomes part of a path, and a digest only once it has the form of one.
 * Deliberately absent: any look at what is there.
 */
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { invalidOption } from '../model/errors.ts';
import { hexOf } from './blob-digest.ts';

/** Where one blob is. */
export interface Place {
  readonly folder: string;
  readonly hex: string;
  readonly path: string;
}

/** @throws LeaseholdError `ERR_LEASEHOLD_BLOB_NOT_FOUND` for what is no digest */
export function placeOf(root: string, tenant: string, digest: string): Place {
  const hex = hexOf(digest);
  const folder = folderOf(tenant);
  return { folder, hex, path: join(root, folder, hex) };
}

/** By JSON, which keeps apart what UTF-8 cannot say. */
export function folderOf(tenant: string): string {
  return createHash('sha256').update(JSON.stringify(tenant)).digest('hex');
}

/** The `root` option. @throws LeaseholdError `ERR_LEASEHOLD_INVALID_OPTION` */
export function rootOf(root: unknown): string {
  const path = root instanceof URL && root.protocol === 'file:' ? fileURLToPath(root) : root;
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return resolve(path);
  throw invalidOption('root', root, 'a path or a file URL');
}
