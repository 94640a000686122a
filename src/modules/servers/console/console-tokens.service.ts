import { Injectable } from '@nestjs/common';
import { Config, readSecretFile } from '../../../config/config.js';
import {
  consoleKey,
  CONSOLE_TOKEN_SECONDS,
  signConsoleToken,
  type ConsoleGrant,
} from '../../../platform/internal-api/console-token.js';

/** Makes the tokens that open consoles. Every node has a key of its own, derived and stored nowhere. */
@Injectable()
export class ConsoleTokens {
  private secret: string | undefined;

  constructor(private readonly config: Config) {}

  async sign(nodeId: string, grant: ConsoleGrant): Promise<{ token: string; expiresAt: Date }> {
    const expiresAt = new Date(Math.floor(Date.now() / 1000) * 1000 + CONSOLE_TOKEN_SECONDS * 1000);
    return { token: await signConsoleToken(this.key(nodeId), grant, expiresAt.getTime()), expiresAt };
  }

  /** The node's key, as the node is told it. */
  keyText(nodeId: string): string {
    return Buffer.from(this.key(nodeId)).toString('base64url');
  }

  private key(nodeId: string): Uint8Array {
    // One secret a line, the first is the present one.
    this.secret ??= readSecretFile(this.config, 'sessionSecretFile').split('\n')[0]!.trim();
    return consoleKey(this.secret, nodeId);
  }
}
