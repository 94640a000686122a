import { EngineError } from '../../../src/drivers/engine/engine.js';
import { ResizeService } from '../../../src/modules/servers/resize/resize.service.js';
import { ServersService } from '../../../src/modules/servers/servers.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { ServersApp } from './servers-app.js';

let app: ServersApp;
let caller: Principal;
let small: string;
let large: string;

beforeAll(async () => {
  app = await ServersApp.start();
  await app.startWorker();
  caller = await app.makeCaller('resizer');
  small = await app.makeServer(caller);
  large = await app.makeServer(caller);
  await app.database.source.query("UPDATE plans SET ram = 256 WHERE id = 'pro'");
});
afterAll(() => app?.close());

const resize = (id: string, ram: number) => app.api.get(ResizeService).resize(caller, id, { ram });
const ramOf = async (id: string) => (await app.api.get(ServersService).get(caller, id)).limits.ram;

test('what a service gives up is free once it has been given up, and not before', async () => {
  app.engine.faults.goAway();
  const shrinking = resize(small, 64);
  shrinking.catch(() => undefined);
  // Whichever of the two is accepted first: there is no room for the other one's growth.
  await expect(resize(large, 192)).rejects.toMatchObject({ code: 'quota_exceeded' });
  app.engine.faults.failCall('setLimits', 1, new EngineError('conflict', 'more is in use'));
  app.engine.faults.comeBack();
  await expect(shrinking).rejects.toMatchObject({ kind: 'conflict', code: 'limits_refused' });
  expect(await ramOf(small)).toBe(128);
  await expect(resize(large, 192)).rejects.toMatchObject({ code: 'quota_exceeded' });

  expect(await resize(small, 64)).toMatchObject({ appliedLive: true });
  expect(await ramOf(small)).toBe(64);
  expect(await resize(large, 192)).toMatchObject({ appliedLive: true });
  expect(await ramOf(large)).toBe(192);
}, 60_000);
