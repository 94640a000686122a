import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../test/support/until.js';
import type { ConsoleAttachment } from '../../drivers/engine/engine.js';
import { SimulatorEngine } from '../../drivers/engine/simulator/simulator-engine.js';
import { createLogger } from '../../platform/observability/logger.js';
import { ConsoleHub } from './console-hub.js';
import type { Watcher } from './service-console.js';

/** Its attachments end when the test lets them, as those of a real engine take their time; what is written then is lost. */
class SlowEngine extends SimulatorEngine {
  readonly ends: (() => void)[] = [];
  private isSlow = true;

  letEnd(): void {
    this.isSlow = false;
    for (const end of this.ends) end();
  }

  override async attachConsole(name: string): Promise<ConsoleAttachment> {
    const attached = await super.attachConsole(name);
    let isOpen = true;
    return {
      ...attached,
      write: (text) => {
        if (isOpen) attached.write(text);
      },
      close: () => {
        isOpen = false;
        if (this.isSlow) this.ends.push(attached.close);
        else attached.close();
      },
    };
  }
}

const ID = 'srv_1';
const NAME = 'srv-1';
const log = createLogger({ logLevel: 'fatal' });

let engine: SlowEngine;
let hub: ConsoleHub;

class Person implements Watcher {
  private text = '';
  send(frames: readonly Buffer[]): void {
    this.text += frames.join('');
  }
  hears(line: string): Promise<unknown> {
    return until(line, () => this.text.includes(line));
  }
}

beforeEach(async () => {
  engine = new SlowEngine({ images: ['nodejs'], networks: [{ name: 'net', gateway: '10.0.0.1/24' }], startMs: 1 });
  hub = new ConsoleHub(engine, log, 1);
  await engine.createVolume({ name: NAME, sizeMb: 64, owner: 'usr_1' });
  await engine.createInstance({
    name: NAME,
    owner: 'usr_1',
    image: 'nodejs',
    volume: NAME,
    limits: { memoryMb: 128, cpuPercent: 100, processes: 100 },
    rootDiskMb: 64,
    network: { name: 'net', address: '10.0.0.2', gateway: '10.0.0.1' },
    environment: {},
    ports: [],
  });
  await engine.startInstance(NAME);
});
afterEach(async () => {
  engine.letEnd();
  await hub.stop();
  await engine.close();
});

test('a console that is being closed is given to nobody; the next one goes on once its attachment has ended', async () => {
  const [somebody, next] = [new Person(), new Person()];
  const first = hub.of(ID);
  await first.watch(somebody);
  first.leave(somebody);
  const end = await until('the end of its attachment', () => engine.ends[0]);
  const second = hub.of(ID);
  expect(second).not.toBe(first);
  expect(await first.write(['lost'])).toBe(false);
  const watched = second.watch(next);
  // The engine would refuse it a second attachment by now.
  expect(await Promise.race([watched, delay(20, 'waits')])).toBe('waits');
  end();
  await watched;
  expect(await second.write(['hello'])).toBe(true);
  await next.hears('heard hello');
  expect(hub.of(ID)).toBe(second);
});

test('one that somebody is about to watch stays when the last one leaves', async () => {
  const [leaver, comer] = [new Person(), new Person()];
  const console = hub.of(ID);
  await console.watch(leaver);
  const coming = console.watch(comer);
  console.leave(leaver);
  await coming;
  // Several times as long as a console is kept for nobody.
  await delay(20);
  expect(hub.of(ID)).toBe(console);
  expect(await console.write(['hello'])).toBe(true);
  await comer.hears('heard hello');
});
