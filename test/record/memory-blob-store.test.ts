/** Blobs in memory: the contract. */
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { blobStoreContract } from './blob-contract.ts';

blobStoreContract(memoryBlobStore);
