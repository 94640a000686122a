import { SimulatorEngine } from '../../src/drivers/engine/simulator/simulator-engine.js';
import { engineContract } from './support/engine-contract.js';
import { SimulatorTarget } from './support/simulator-target.js';
import { until } from '../support/until.js';

describe('simulator', () => engineContract(new SimulatorTarget()));

test('a simulated engine that goes away says that its events are being missed', async () => {
  const engine = new SimulatorEngine();
  const told: string[] = [];
  const abort = new AbortController();
  engine.watch(
    () => undefined,
    () => told.push('connected'),
    abort.signal,
    () => told.push('broken'),
  );
  await until('the watch stands', () => told.length === 1);
  engine.faults.goAway();
  engine.faults.comeBack();
  abort.abort();
  engine.faults.goAway();
  expect(told).toEqual(['connected', 'broken', 'connected']);
  await engine.close();
});
