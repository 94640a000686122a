import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, until } from './berth.mjs';

/** An authority that nobody needs, as the one certificate is there already. */
const ACME_DIRECTORY = 'https://127.0.0.1:9/dir';

/** Caddy as the platform finds it, and a certificate that it has for one domain. */
export class Caddy {
  static async start(parent, domain) {
    const caddy = new Caddy();
    caddy.folder = mkdtempSync(join(parent, 'caddy-'));
    const storage = join(caddy.folder, 'storage');
    const place = join(storage, 'certificates', '127.0.0.1-9-dir', domain);
    mkdirSync(place, { recursive: true });
    const [cert, key] = ['crt', 'key'].map((kind) => join(place, `${domain}.${kind}`));
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert];
    const subject = ['-subj', `/CN=${domain}`, '-addext', `subjectAltName=DNS:${domain}`];
    await promisify(execFile)('openssl', ['req', '-x509', '-days', '90', ...made, ...subject]);
    writeFileSync(join(place, `${domain}.json`), JSON.stringify({ sans: [domain], issuer_data: {} }));
    caddy.certificate = { cert, key };
    const socket = join(caddy.folder, 'admin.sock');
    const config = join(caddy.folder, 'start.json');
    writeFileSync(config, JSON.stringify({ admin: { listen: `unix/${socket}`, config: { persist: false } } }));
    caddy.port = await freePort();
    caddy.env = {
      CADDY_ADMIN_URL: `unix:${socket}`,
      CADDY_STORAGE_DIR: storage,
      CADDY_LOG_PORT: String(await freePort()),
      PAGES_HTTPS_PORT: String(caddy.port),
      ACME_DIRECTORY,
    };
    const home = { HOME: caddy.folder, XDG_DATA_HOME: caddy.folder, XDG_CONFIG_HOME: caddy.folder };
    const env = { PATH: process.env.PATH, ...home };
    caddy.child = spawn('caddy', ['run', '--config', config], { env, stdio: 'ignore' });
    process.once('exit', () => caddy.child.kill('SIGKILL'));
    await until(() => existsSync(socket));
    return caddy;
  }

  async stop() {
    this.child.kill('SIGTERM');
    await new Promise((resolve) => this.child.once('exit', resolve));
    rmSync(this.folder, { recursive: true });
  }
}
