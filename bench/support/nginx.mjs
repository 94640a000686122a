import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, until } from './berth.mjs';

/** nginx with files to read and WebDAV to write them, in one process as the platform is, with its folder on a given disk. */
export class Nginx {
  /** `certificate` has it speak TLS as well. */
  static async start(parent, certificate) {
    const nginx = new Nginx();
    nginx.folder = mkdtempSync(join(parent, 'nginx-'));
    chmodSync(nginx.folder, 0o755);
    nginx.files = join(nginx.folder, 'files');
    for (const folder of ['files', 'bodies']) mkdirSync(join(nginx.folder, folder));
    const port = await freePort();
    nginx.tlsPort = await freePort();
    const tls = certificate
      ? `listen 127.0.0.1:${nginx.tlsPort} ssl; ssl_certificate ${certificate.cert}; ssl_certificate_key ${certificate.key};`
      : '';
    const config = join(nginx.folder, 'nginx.conf');
    writeFileSync(
      config,
      `daemon off; worker_processes 1; user root; pid ${nginx.folder}/pid; error_log ${nginx.folder}/errors;
       events { worker_connections 512; }
       http {
         access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; client_max_body_size 2g;
         client_body_temp_path ${nginx.folder}/bodies;
         server { listen 127.0.0.1:${port}; ${tls} root ${nginx.files}; dav_methods PUT; }
       }\n`,
    );
    nginx.url = `http://127.0.0.1:${port}`;
    nginx.child = spawn('/usr/sbin/nginx', ['-c', config, '-p', nginx.folder], { stdio: 'inherit' });
    process.once('exit', () => nginx.child.kill('SIGKILL'));
    await until(() =>
      fetch(nginx.url).then(
        () => true,
        () => false,
      ),
    );
    return nginx;
  }

  async stop() {
    this.child.kill('SIGTERM');
    await new Promise((resolve) => this.child.once('exit', resolve));
    rmSync(this.folder, { recursive: true });
  }
}
