import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer, request, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Daemon } from './daemon.js';
import { freePorts } from './free-ports.js';
import { until } from './until.js';

const execute = promisify(execFile);

export interface PebbleOptions {
  /** Where it looks names up. */
  dns: string;
  /** Where it looks for whoever wants a certificate. */
  tlsPort: number;
}

/** What it is called in CAA records. It does not look at them itself. */
export const AUTHORITY = 'pebble.test';
/** Nobody gets a certificate for this name, nor for any below it. */
export const BLOCKED = 'blocked.test';

/** A certificate authority of our own that speaks real ACME. */
export class Pebble {
  /** What it signs certificates of sites with (PEM); made anew at each start. */
  root = '';
  private directory: Server | undefined;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly directoryPort: number,
    private readonly daemon: Daemon,
  ) {}

  static async start({ dns, tlsPort }: PebbleOptions): Promise<Pebble> {
    const folder = mkdtempSync(join(tmpdir(), 'berth-pebble-'));
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert];
    await execute('openssl', ['req', '-x509', '-days', '2', ...made, ...subject]);
    const [port, managementPort, httpPort, directoryPort] = (await freePorts(4)) as [number, number, number, number];
    const config = join(folder, 'pebble.json');
    const listeners = {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: cert,
      privateKey: key,
      httpPort,
      tlsPort,
      ocspResponderURL: '',
      externalAccountBindingRequired: false,
      domainBlocklist: [BLOCKED],
    };
    writeFileSync(config, JSON.stringify({ pebble: listeners }));
    const env = { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' };
    const daemon = await Daemon.start('pebble', ['-config', config, '-dnsserver', dns, '-strict', 'false'], env);
    const pebble = new Pebble(folder, port, directoryPort, daemon);
    await until('Pebble answers', () => pebble.ask().then(Boolean, () => false));
    await pebble.openDirectory();
    pebble.root = await text(await pebble.get(managementPort, '/roots/0'));
    writeFileSync(pebble.env['ACME_CA_FILE']!, readFileSync(cert, 'utf8') + pebble.root);
    return pebble;
  }

  /** With a file that has both what it serves with and what it signs with. */
  get env(): Record<string, string> {
    return {
      ACME_DIRECTORY: `https://127.0.0.1:${this.directoryPort}/dir`,
      ACME_CA_FILE: join(this.folder, 'ca.pem'),
    };
  }

  log(): string {
    return this.daemon.log();
  }

  async close(): Promise<void> {
    this.directory?.closeAllConnections();
    this.directory?.close();
    await this.daemon.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Its directory, with what those of public authorities have besides. */
  private async openDirectory(): Promise<void> {
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(this.folder, name)));
    this.directory = createServer({ cert, key }, (_request, response) => {
      this.ask().then(
        (directory) => {
          const meta = { ...directory['meta'], caaIdentities: [AUTHORITY] };
          response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...directory, meta }));
        },
        () => response.destroy(),
      );
    }).listen(this.directoryPort, '127.0.0.1');
    await once(this.directory, 'listening');
  }

  private async ask(): Promise<Record<string, any>> {
    return (await json(await this.get(this.port, '/dir'))) as Record<string, any>;
  }

  private async get(port: number, path: string): Promise<IncomingMessage> {
    const ca = readFileSync(join(this.folder, 'cert.pem'));
    const asked = request({ port, host: '127.0.0.1', path, ca }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return response;
  }
}
