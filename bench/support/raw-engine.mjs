import { request } from 'node:http';

/** Below those that the kernel gives to connections, one of which would keep a container from starting. */
const PORTS_FROM = 30_000;
const START_ATTEMPTS = 5;

/**
 * The yardstick of the hosting benchmarks: makes and starts containers through the engine's own API, with the very
 * configuration the platform gave one of its own, and does nothing besides.
 */
export class RawEngine {
  constructor(env) {
    this.socketPath = env.ENGINE_URL.replace(/^unix:/, '');
    this.project = env.ENGINE_PROJECT;
    this.pool = env.ENGINE_POOL;
    this.gateway = env.APP_SUBNET.split('/')[0];
    this.made = [];
    this.next = 0;
    this.creation = Promise.resolve();
  }

  /** Takes the configuration of the platform's container as the pattern. */
  async learn(serverId) {
    const name = serverId.replace('_', '-');
    const instance = await this.call('GET', `/1.0/instances/${name}`);
    const volume = await this.call('GET', `/1.0/storage-pools/${this.pool}/volumes/custom/${name}`);
    const own = ([key]) => !/^(volatile|image)\./.test(key);
    this.pattern = {
      name,
      alias: 'nodejs',
      config: Object.fromEntries(Object.entries(instance.config).filter(own)),
      devices: instance.devices,
      volume: Object.fromEntries(Object.entries(volume.config).filter(own)),
    };
  }

  /** A process in the container of a service, whose network others can enter. */
  async networkOf(serverId) {
    return (await this.call('GET', `/1.0/instances/${serverId.replace('_', '-')}/state`)).pid;
  }

  async launch() {
    const number = this.next++;
    const name = `raw-${Date.now().toString(36)}-${number}`;
    const { alias, volume } = this.pattern;
    this.made.push(name);
    await this.call('POST', `/1.0/storage-pools/${this.pool}/volumes/custom`, { name, config: volume });
    const source = { type: 'image', alias };
    const instance = { name, type: 'container', profiles: [], source, ...this.configured(name, number) };
    // One after another: made at the same moment, two may get the same user ids, and then one of them never starts.
    this.creation = this.creation.then(() => this.call('POST', '/1.0/instances', instance));
    await this.creation;
    await this.start(name);
  }

  /** Now and then one of many starts at once fails inside the engine; any client would try again. */
  async start(name) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.call('PUT', `/1.0/instances/${name}/state`, { action: 'start', timeout: 60 });
      } catch (error) {
        if (attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  async removeAll() {
    for (const name of this.made.splice(0)) {
      await this.call('PUT', `/1.0/instances/${name}/state`, { action: 'stop', force: true }).catch(() => undefined);
      await this.call('DELETE', `/1.0/instances/${name}`);
      await this.call('DELETE', `/1.0/storage-pools/${this.pool}/volumes/custom/${name}`);
    }
  }

  /** The pattern with an address, a port and a volume of this container's own. */
  configured(name, number) {
    const [a, b] = this.gateway.split('.');
    const address = `${a}.${b}.250.${number + 1}`;
    const hardwareAddress = `00:16:3e:fa:00:${(number + 1).toString(16).padStart(2, '0')}`;
    const port = String(PORTS_FROM + number);
    const text = JSON.stringify({ config: this.pattern.config, devices: this.pattern.devices });
    const old = this.pattern.config['environment.SERVER_PORT'];
    const nic = Object.values(this.pattern.devices).find((device) => device['ipv4.address']);
    return JSON.parse(
      text
        .replaceAll(this.pattern.name, name)
        .replaceAll(nic['ipv4.address'], address)
        .replaceAll(nic.hwaddr, hardwareAddress)
        .replaceAll(`:${old}`, `:${port}`)
        .replaceAll(`"${old}"`, `"${port}"`),
    );
  }

  /** One call; a slow one is waited for to its end. */
  async call(method, path, body) {
    const answer = await this.send(method, path, body);
    if (answer.type === 'error') throw new Error(`engine: ${answer.error}`);
    if (answer.type !== 'async') return answer.metadata;
    const done = await this.send('GET', `${answer.operation}/wait?timeout=120`);
    if (done.metadata?.status_code !== 200) throw new Error(`engine: ${done.metadata?.err ?? done.error}`);
    return done.metadata;
  }

  send(method, path, body) {
    const url = `${path}${path.includes('?') ? '&' : '?'}project=${this.project}`;
    return new Promise((resolve, reject) => {
      const outgoing = request({
        socketPath: this.socketPath,
        method,
        path: url,
        headers: { 'content-type': 'application/json' },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        response.on('end', () => resolve(JSON.parse(text)));
      });
      outgoing.end(body && JSON.stringify(body));
    });
  }
}
