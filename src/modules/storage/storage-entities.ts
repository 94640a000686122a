import { Bucket } from './buckets/bucket.entity.js';
import { DiscardedBlob } from './objects/discarded-blob.entity.js';
import { ObjectUpload } from './objects/object-upload.entity.js';
import { StoredObject } from './objects/stored-object.entity.js';

/** The tables of this module, for whoever opens the database. */
export const STORAGE_ENTITIES = [Bucket, StoredObject, ObjectUpload, DiscardedBlob];
