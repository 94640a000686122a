import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Daemon } from './daemon.js';
import { until } from './until.js';

/** A Caddy that knows nothing but who may tell it more, as the platform finds it. */
export class Caddy {
  private daemon: Daemon | undefined;
  private readonly folder = mkdtempSync(join(tmpdir(), 'berth-caddy-'));

  get env(): Record<string, string> {
    return { CADDY_ADMIN_URL: `unix:${this.socket}`, CADDY_STORAGE_DIR: join(this.folder, 'storage') };
  }

  private get socket(): string {
    return join(this.folder, 'admin.sock');
  }

  static async start(): Promise<Caddy> {
    const caddy = new Caddy();
    await caddy.start();
    return caddy;
  }

  async start(): Promise<void> {
    const config = join(this.folder, 'start.json');
    writeFileSync(config, JSON.stringify({ admin: { listen: `unix/${this.socket}`, config: { persist: false } } }));
    const home = { HOME: this.folder, XDG_DATA_HOME: this.folder, XDG_CONFIG_HOME: this.folder };
    this.daemon = await Daemon.start('caddy', ['run', '--config', config], home);
    await until('Caddy takes settings', () => existsSync(this.socket));
  }

  async kill(): Promise<void> {
    await this.daemon?.stop('SIGKILL');
    await rm(this.socket, { force: true });
  }

  log(): string {
    return this.daemon?.log() ?? '';
  }

  async close(): Promise<void> {
    await this.daemon?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
