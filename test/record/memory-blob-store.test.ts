/** Blobs in memory: the contract. */
import { memoryBlobStore } from '../../src/record/memory-blob-store.ts';
import { blobStoreContract } from './blob-contract.ts';
import { blobLimitsContract } from './blob-limits-contract.ts';

blobStoreContract(memoryBlobStore);
blobLimitsContract(memoryBlobStore);
