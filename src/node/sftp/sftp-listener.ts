import { createSecretKey } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import ssh2, { type AuthContext, type Connection, type ServerConfig } from 'ssh2';
import { UnderWay } from '../../platform/batching/under-way.js';
import { addressBucket, canonicalAddress } from '../../platform/http/client-address.js';
import { InternalApiRefusal, type InternalApiClient } from '../../platform/internal-api/internal-api.client.js';
import type { SftpLoginAnswer } from '../../platform/internal-api/internal-api.contract.js';
import type { AppLogger } from '../../platform/observability/logger.js';
import { SftpClient, type SftpParts } from './sftp-client.js';
import { SftpConnection } from './sftp-connection.js';

/** Ciphers that are authenticated as a whole: nothing can be cut out of a handshake (Terrapin). Nothing is compressed. */
const ALGORITHMS: ServerConfig['algorithms'] = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes256-gcm@openssh.com', 'aes128-gcm@openssh.com'],
  hmac: ['hmac-sha2-256-etm@openssh.com'],
  compress: ['none'],
};

/**
 * The server behind it is OpenSSH's, and its name is what clients go by: it takes the arguments of SYMLINK the other way
 * round, and packets of 256 KiB.
 */
const IDENT = 'OpenSSH';

const AUTH_MS = 20_000;
const PASSWORD_TRIES = 3;
/** Clients offer a handful of keys before they ask for a password. */
const AUTH_REQUESTS = 20;
const CONNECTIONS = 512;
const CONNECTIONS_OF_ADDRESS = 32;

/** The SFTP side of the node: lets people in by the control plane's word, to the files of one service. */
export class SftpListener {
  private readonly sockets = createServer({ noDelay: true });
  private readonly connections = new Set<SftpConnection>();
  private readonly byAddress = new UnderWay();
  private readonly config: ServerConfig;

  constructor(
    hostKey: string,
    private readonly api: InternalApiClient,
    private readonly parts: SftpParts,
    private readonly log: AppLogger,
  ) {
    this.config = {
      hostKeys: [hostKey],
      algorithms: ALGORITHMS,
      ident: IDENT,
      keepaliveInterval: 30_000,
      keepaliveCountMax: 4,
    };
    this.sockets.on('connection', (socket) => this.take(socket));
    this.sockets.on('error', (error: unknown) => this.log.error({ err: error }, 'the SFTP listener failed'));
  }

  async listen(host: string, port: number): Promise<number> {
    this.sockets.listen(port, host);
    await once(this.sockets, 'listening');
    return (this.sockets.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.sockets.close(() => resolve()));
    for (const connection of this.connections) connection.finish();
    await closed;
  }

  /** Limits begin here, and not where the library tells of a connection: that is once the client has said something. */
  private take(socket: Socket): void {
    const address = canonicalAddress(socket.remoteAddress ?? '');
    const bucket = addressBucket(address ?? '');
    if (address === undefined || this.byAddress.of(bucket) >= CONNECTIONS_OF_ADDRESS) {
      socket.destroy();
      return;
    }
    if (this.connections.size >= CONNECTIONS && !this.dropOldestStranger()) {
      socket.destroy();
      return;
    }
    const connection = new SftpConnection(socket, address);
    const leave = this.byAddress.begin(bucket);
    this.connections.add(connection);
    socket.once('close', () => {
      leave();
      this.connections.delete(connection);
    });
    const deadline = setTimeout(() => connection.drop(), AUTH_MS);
    connection.ended.addEventListener('abort', () => clearTimeout(deadline));
    // One server for each, as it does not say which socket it is that a connection has.
    const server = new ssh2.Server(this.config, (ssh) => this.welcome(ssh, connection, deadline));
    server.injectSocket(inOneGo(socket));
  }

  /** Many addresses together must keep nobody out who knows a password. False when all have logged in. */
  private dropOldestStranger(): boolean {
    const oldest = [...this.connections].find(({ loggedIn }) => !loggedIn);
    if (!oldest) return false;
    this.connections.delete(oldest);
    oldest.drop();
    return true;
  }

  private welcome(ssh: Connection, connection: SftpConnection, deadline: NodeJS.Timeout): void {
    connection.speaks(ssh);
    ssh.on('error', (error) => {
      this.log.debug({ err: error, address: connection.address }, 'SFTP connection failed');
      connection.finish();
    });
    let login: SftpLoginAnswer | undefined;
    const tries = { requests: 0, passwords: 0 };
    ssh.on('authentication', (context) => {
      void this.authenticate(connection, context, tries, (answer) => (login = answer));
    });
    ssh.on('rekey', () => prepareKeys(ssh));
    ssh.on('ready', () => {
      clearTimeout(deadline);
      connection.loggedIn = login !== undefined;
      prepareKeys(ssh);
      if (login) new SftpClient(ssh, connection, login, this.parts).serve();
      else connection.finish();
    });
  }

  private async authenticate(
    connection: SftpConnection,
    context: AuthContext,
    tries: { requests: number; passwords: number },
    welcome: (answer: SftpLoginAnswer) => void,
  ): Promise<void> {
    // Requests may come without waiting for answers: the next one is here as soon as one is rejected.
    if (++tries.requests > AUTH_REQUESTS || tries.passwords >= PASSWORD_TRIES) {
      connection.finish();
      return;
    }
    if (context.method !== 'password') {
      context.reject(['password']);
      return;
    }
    const { username, password } = context;
    const answer = await this.ask({ username, password, address: connection.address });
    if (connection.ended.aborted) return;
    if (answer) {
      welcome(answer);
      context.accept();
      return;
    }
    tries.passwords++;
    context.reject(['password']);
    if (tries.passwords >= PASSWORD_TRIES) connection.finish();
  }

  private async ask(login: { username: string; password: string; address: string }): Promise<SftpLoginAnswer | null> {
    try {
      return await this.api.sftpLogin(login);
    } catch (error) {
      const refused = error instanceof InternalApiRefusal && error.status < 500;
      if (!refused) this.log.warn({ err: error }, 'SFTP logins cannot be checked');
      return null;
    }
  }
}

/** The library writes each packet in several pieces. What is written in one turn is handed to the kernel as a whole. */
function inOneGo(socket: Socket): Socket {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let gathering = false;
  socket.write = (...args: unknown[]) => {
    if (!gathering) {
      gathering = true;
      socket.cork();
      process.nextTick(() => {
        gathering = false;
        socket.uncork();
      });
    }
    return write(...args);
  };
  return socket;
}

/**
 * The library makes a cipher for each packet, and looking at a key's bytes each time costs Node more than the cipher: it is
 * given the keys as objects. Where it has no such keys, or ciphers in a way of its own, nothing changes.
 */
function prepareKeys(connection: Connection): void {
  const { _cipher: cipher, _decipher: decipher } =
    (connection as { _protocol?: { _cipher?: { _encKey?: unknown }; _decipher?: { _decipherKey?: unknown } } })
      ._protocol ?? {};
  if (cipher && Buffer.isBuffer(cipher._encKey)) cipher._encKey = createSecretKey(cipher._encKey);
  if (decipher && Buffer.isBuffer(decipher._decipherKey))
    decipher._decipherKey = createSecretKey(decipher._decipherKey);
}
