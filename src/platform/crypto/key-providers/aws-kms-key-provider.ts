import {
  DecryptCommand,
  DescribeKeyCommand,
  EncryptCommand,
  IncorrectKeyException,
  InvalidCiphertextException,
  KMSClient,
} from '@aws-sdk/client-kms';
import { keyProviderAway, KeyProvider, WrongKey, type KeyContext, type WrappedKey } from '../key-provider.js';

export interface AwsKmsOptions {
  /** Id, ARN or alias. */
  keyId: string;
  /** The key before it, while what it wrapped is wrapped anew. */
  previousKeyId?: string | undefined;
  region: string;
  endpoint?: string | undefined;
}

const TIMEOUT_MS = 5000;
const FRESH_MS = 300_000;

/** Wraps with a key of AWS KMS, which authenticates the context as encryption context. Credentials are found as its SDK does. */
export class AwsKmsKeyProvider extends KeyProvider {
  readonly kind = 'aws-kms';
  private readonly client: KMSClient;
  private readonly arns = new Map<string, { arn: string; until: number }>();

  constructor(private readonly options: AwsKmsOptions) {
    super();
    const { region, endpoint } = options;
    this.client = new KMSClient({
      region,
      ...(endpoint ? { endpoint } : {}),
      maxAttempts: 2,
      requestHandler: { requestTimeout: TIMEOUT_MS, connectionTimeout: TIMEOUT_MS },
    });
  }

  override async wrap(key: Buffer, context: KeyContext): Promise<WrappedKey> {
    const KeyId = await this.currentKeyId();
    const command = new EncryptCommand({ KeyId, Plaintext: key, EncryptionContext: { ...context } });
    const { CiphertextBlob } = await this.asked(() => this.client.send(command));
    if (!CiphertextBlob) throw keyProviderAway(new Error('KMS answered without a ciphertext'));
    return { keyId: KeyId, blob: Buffer.from(CiphertextBlob) };
  }

  override async unwrap({ keyId, blob }: WrappedKey, context: KeyContext): Promise<Buffer> {
    // The key is ours to name, not the stored row's: a blob must not choose what it is opened with.
    if (!(await this.isOurs(keyId))) throw new WrongKey();
    const command = new DecryptCommand({ KeyId: keyId, CiphertextBlob: blob, EncryptionContext: { ...context } });
    const { Plaintext } = await this.asked(() => this.client.send(command));
    if (!Plaintext) throw keyProviderAway(new Error('KMS answered without a plaintext'));
    return Buffer.from(Plaintext);
  }

  override currentKeyId(): Promise<string> {
    return this.arnOf(this.options.keyId);
  }

  override async check(): Promise<void> {
    this.arns.delete(this.options.keyId);
    await this.currentKeyId();
  }

  private async isOurs(keyId: string): Promise<boolean> {
    if (keyId === (await this.currentKeyId())) return true;
    const { previousKeyId } = this.options;
    return previousKeyId !== undefined && keyId === (await this.arnOf(previousKeyId));
  }

  private async arnOf(name: string): Promise<string> {
    const known = this.arns.get(name);
    if (known && known.until > Date.now()) return known.arn;
    const { KeyMetadata } = await this.asked(() => this.client.send(new DescribeKeyCommand({ KeyId: name })));
    const arn = KeyMetadata?.Arn;
    if (!arn) throw keyProviderAway(new Error('KMS answered without the ARN of the key'));
    this.arns.set(name, { arn, until: Date.now() + FRESH_MS });
    return arn;
  }

  private async asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof InvalidCiphertextException || error instanceof IncorrectKeyException)
        throw new WrongKey({ cause: error });
      throw keyProviderAway(error);
    }
  }
}
