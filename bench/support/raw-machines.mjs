import { request } from 'node:http';
import { RawEngine } from './raw-engine.mjs';

const PORTS_FROM = 30_500;

/** The same yardstick for machines: the engine's own launch of the image, with the key put in. */
export class RawMachines extends RawEngine {
  /** Takes the configuration of the platform's machine as the pattern. */
  async learn(machineId) {
    const name = machineId.replace('_', '-');
    const instance = await this.call('GET', `/1.0/instances/${name}`);
    const own = ([key]) => !/^(volatile|image)\./.test(key);
    const devices = Object.fromEntries(Object.entries(instance.devices).filter(([, { type }]) => type !== 'proxy'));
    const config = Object.fromEntries(Object.entries(instance.config).filter(own));
    this.pattern = { name, config, devices };
  }

  /** Made, given the key, and started; answers its name. */
  async launch(key) {
    const number = this.next++;
    const name = `raw-${Date.now().toString(36)}-${number}`;
    const { config, devices } = structuredClone(this.pattern);
    const [a, b] = devices.eth0['ipv4.address'].split('.');
    devices.eth0['ipv4.address'] = `${a}.${b}.250.${number + 1}`;
    devices.eth0.hwaddr = `00:16:3e:fb:00:${(number + 1).toString(16).padStart(2, '0')}`;
    this.made.push(name);
    const source = { type: 'image', alias: 'debian/12' };
    await this.call('POST', '/1.0/instances', { name, type: 'container', profiles: [], source, config, devices });
    await this.put(name, '/root/.ssh/authorized_keys', `${key}\n`);
    await this.start(name);
    return name;
  }

  /** Has a port of this machine lead to the SSH server in there; answers it. */
  async redirect(name) {
    const port = PORTS_FROM + this.next;
    const ssh = { type: 'proxy', listen: `tcp:127.0.0.1:${port}`, connect: 'tcp:127.0.0.1:22', bind: 'host' };
    await this.call('PATCH', `/1.0/instances/${name}`, { devices: { ssh } });
    return port;
  }

  put(name, file, text) {
    const path = `/1.0/instances/${name}/files?project=${this.project}&path=${encodeURIComponent(file)}`;
    const headers = { 'x-lxd-type': 'file', 'x-lxd-mode': '0600', 'content-type': 'application/octet-stream' };
    return new Promise((resolve, reject) => {
      const outgoing = request({ socketPath: this.socketPath, method: 'POST', path, headers });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => response.resume().on('end', resolve));
      outgoing.end(text);
    });
  }

  async removeAll() {
    for (const name of this.made.splice(0)) {
      await this.call('PUT', `/1.0/instances/${name}/state`, { action: 'stop', force: true }).catch(() => undefined);
      await this.call('DELETE', `/1.0/instances/${name}`);
    }
  }
}
