import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** A certificate authority of our own that speaks real ACME. */
export class Pebble {
  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly daemon: Daemon,
  ) {}

  static async start({ dns, tlsPort }: PebbleOptions): Promise<Pebble> {
    const folder = mkdtempSync(join(tmpdir(), 'berth-pebble-'));
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert];
    await execute('openssl', ['req', '-x509', '-days', '2', ...made, ...subject]);
    const [port, managementPort, httpPort] = (await freePorts(3)) as [number, number, number];
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
    };
    writeFileSync(config, JSON.stringify({ pebble: listeners }));
    const env = { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' };
    const daemon = await Daemon.start('pebble', ['-config', config, '-dnsserver', dns, '-strict', 'false'], env);
    const pebble = new Pebble(folder, port, daemon);
    await until('Pebble answers', () => pebble.answers());
    return pebble;
  }

  get env(): Record<string, string> {
    return { ACME_DIRECTORY: `https://127.0.0.1:${this.port}/dir`, ACME_CA_FILE: join(this.folder, 'cert.pem') };
  }

  log(): string {
    return this.daemon.log();
  }

  async close(): Promise<void> {
    await this.daemon.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  private answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const ca = readFileSync(join(this.folder, 'cert.pem'));
      request({ port: this.port, host: '127.0.0.1', path: '/dir', ca }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      })
        .on('error', () => resolve(false))
        .end();
    });
  }
}
