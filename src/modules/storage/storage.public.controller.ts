import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { BucketsService } from './buckets/buckets.service.js';
import { ObjectUploads } from './lifecycle/object-uploads.js';
import { ObjectDownloads } from './objects/object-downloads.reader.js';
import { ObjectsService } from './objects/objects.service.js';
import { StorageRoutes } from './storage.routes.js';

@PublicApi('storage')
export class StoragePublicController extends StorageRoutes {
  constructor(buckets: BucketsService, objects: ObjectsService, uploads: ObjectUploads, downloads: ObjectDownloads) {
    super(buckets, objects, uploads, downloads);
  }
}
