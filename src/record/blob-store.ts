/**
 * BlobStore as the record's own word: what a store is stands in `model/stores.ts`, since options name it too.
 *
 * Invariant: nothing is defined here. Deliberately absent: any store; the one in memory is `memory-blob-store.ts`.
 */
export type { BlobStore } from '../model/stores.ts';
