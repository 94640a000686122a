import { Hosting, onEngine } from './support/hosting.js';
import { ManyServices } from './support/many-services.js';

onEngine('a worker that is asked to end', () => {
  let hosting: Hosting;

  beforeAll(async () => (hosting = await Hosting.start({ roles: ['api', 'node'] })));
  afterAll(() => hosting?.close());

  test('hands its work to the other', async () => {
    const [first] = await Promise.all([hosting.add(['worker']), hosting.add(['worker'])]);
    const services = new ManyServices(hosting, (await hosting.berth.makeAccount()).api);
    await services.makeHalfway(6);
    await first.stop();
    await services.expectAllRun();
    expect(first.complaints()).not.toMatch(/LeaseLost/);
  });
});
