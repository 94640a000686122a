import { fileURLToPath } from 'node:url';
import { ConfigError, type Config } from '../../config/config.js';
import { PrivateFileError } from '../files/private-file.js';
import type { KeyProvider } from './key-provider.js';

/** The provider that the settings name. Each is loaded only where it is used. */
export async function createKeyProvider(config: Config): Promise<KeyProvider> {
  switch (config.keyProvider) {
    case 'local': {
      const { LocalKeyProvider } = await import('./key-providers/local-key-provider.js');
      try {
        return new LocalKeyProvider(config.require('masterKeyFile'), dataFolders(config));
      } catch (error) {
        if (error instanceof PrivateFileError) throw new ConfigError(`Settings: ${error.message}.`, { cause: error });
        throw error;
      }
    }
    case 'vault-transit': {
      const { TransitKeyProvider } = await import('./key-providers/transit-key-provider.js');
      if (config.transitTokenFile === undefined) {
        config.require('transitRoleId');
        config.require('transitSecretIdFile');
      }
      return new TransitKeyProvider({
        url: config.require('transitUrl'),
        mount: config.transitMount,
        key: config.require('transitKey'),
        tokenFile: config.transitTokenFile,
        roleId: config.transitRoleId,
        secretIdFile: config.transitSecretIdFile,
        caFile: config.transitCaFile,
      });
    }
    case 'aws-kms': {
      const { AwsKmsKeyProvider } = await import('./key-providers/aws-kms-key-provider.js');
      return new AwsKmsKeyProvider({
        keyId: config.require('kmsKeyId'),
        previousKeyId: config.kmsPreviousKeyId,
        region: config.require('kmsRegion'),
        endpoint: config.kmsEndpoint,
      });
    }
  }
}

/** Where data or backups lie: a key that is copied along with what it protects protects nothing. */
export function dataFolders({ objectStoreUrl }: Config): string[] {
  return objectStoreUrl?.startsWith('file:') ? [fileURLToPath(objectStoreUrl)] : [];
}
