import { randomUUID } from 'node:crypto';
import type { Api, Answer, Sent } from '../../support/api.js';
import type { Berth, TestAccount } from '../../support/app.js';
import { newId } from '../../../src/platform/ids/id.js';
import { HIDDEN_VALUE } from './invariants.js';

import { SAMPLE_MACHINE, SITE_DOMAIN, sampleBody, sampleOfRoute as sampleOf, setSample } from './samples.js';
import { archiveForm } from './archive.js';
import { fill, OBJECT_KEY, type Route, type SurfaceName } from './surface.js';

/** An account with a session beside its keys. */
export interface Person extends TestAccount {
  panel: Api;
}

/** How a record comes about that a path's parameter names. */
interface Kind {
  make(world: World, owner: Person, parents: string[]): Promise<string>;
  /** A name of the right shape that stands for nothing. */
  missing(): string;
  /** No id but a word with a meaning of its own, the same for everybody. */
  word?: true;
  /** No id but one of a few words, and with another the request is at fault. */
  choice?: true;
}

/** One entry for each parameter of a path; a new kind of record needs one before its routes can be tested. */
const KINDS: Record<string, Kind> = {
  '/servers/{id}': { make: (world, owner) => world.makeServer(owner), missing: () => newId('srv') },
  '/servers/{id}/variables/{key}': { make: async () => 'STARTUP_FILE', missing: () => 'NO_SUCH_VARIABLE', word: true },
  '/servers/{id}/allocations/{alcId}': {
    make: async (_world, { api }, [id]) =>
      (await api.post(`/servers/${id}/allocations`, { protocol: 'udp' })).expect(201).body.id as string,
    missing: () => newId('alc'),
  },
  '/servers/{id}/backups/{uuid}': {
    make: (_world, { api }, [id]) => makeBackup(api, id!),
    missing: () => randomUUID(),
  },
  '/servers/{id}/schedules/{sid}': {
    make: async (_world, { api }, [id]) =>
      (await api.post(`/servers/${id}/schedules`, { hour: '4', minute: '30' })).expect(201).body.id as string,
    missing: () => newId('sch'),
  },
  '/servers/{id}/schedules/{sid}/tasks/{tid}': {
    make: async (_world, { api }, [id, sid]) =>
      (await api.post(`/servers/${id}/schedules/${sid}/tasks`, { action: 'backup' })).expect(201).body.id as string,
    missing: () => newId('tsk'),
  },
  '/servers/{id}/exec/{jobId}': {
    make: async (_world, { api }, [id]) => {
      const { jobId } = (await api.post(`/servers/${id}/exec`, { command: 'true' })).expect(202).body as {
        jobId: string;
      };
      await api.waitFor(`/servers/${id}/exec/${jobId}`, 'DONE');
      return jobId;
    },
    missing: () => newId('job'),
  },
  '/servers/{id}/vault/{secretId}': {
    make: (_world, { api }, [id]) => makeSecret(api, `/servers/${id}/vault`),
    missing: () => newId('sec'),
  },
  '/servers/{id}/db-connection': {
    make: async (world, owner) => (await world.makeDatabase(owner)).serverId,
    missing: () => newId('srv'),
  },
  '/databases/{id}': {
    make: async (world, owner) => (await world.makeDatabase(owner)).id,
    missing: () => newId('db'),
  },
  '/vault/{secretId}': { make: (_world, { api }) => makeSecret(api, '/vault'), missing: () => newId('sec') },
  '/storage/buckets/{id}': { make: (_world, { api }) => makeBucket(api), missing: () => newId('bkt') },
  '/nocode/projects/{id}': {
    make: async (_world, { api }) =>
      (await api.post('/nocode/projects', { name: 'made', data: '{"pages":[]}' })).expect(201).body.id as string,
    missing: () => newId('prj'),
  },
  '/seo/scans/{id}': {
    make: async (_world, { api }) => (await api.post('/seo/scan', sampleOf('seo_scan'))).expect(201).body.id as string,
    missing: () => newId('scn'),
  },
  '/pages/{id}': { make: (_world, { api }) => makeSite(api), missing: () => newId('pag') },
  '/pages/{id}/rollback/{deployId}': { make: (_world, { api }, [id]) => deploy(api, id!), missing: () => newId('dep') },
  '/operations/{id}': { make: (world, owner) => world.makeOperation(owner), missing: () => newId('op') },
  '/lxc/{id}': { make: (world, owner) => world.makeMachine(owner), missing: () => newId('lxc') },
  '/lxc/{id}/power/{action}': { make: async () => 'start', missing: () => 'start', choice: true },
  '/lxc/{id}/ports/{portId}': {
    make: async (_world, { api }, [id]) =>
      (await api.post(`/lxc/${id}/ports`, { targetPort: 22, protocol: 'tcp' })).expect(201).body.id as string,
    missing: () => newId('prt'),
  },
  '/lxc/{id}/snapshots/{snapshotId}': {
    make: (_world, { api }, [id]) => makeSnapshot(api, id!),
    missing: () => newId('snp'),
  },
  '/keys/{id}': {
    make: async (_world, { panel }) =>
      (await panel.post('/keys', { name: 'made for a test' })).expect(201).body.id as string,
    missing: () => newId('key'),
  },
};

/** V-15: a sealed secret in every account and every service, so that any answer that held its value would be seen. */
async function hide(api: Api, path: string): Promise<void> {
  (await api.put(path, { key: 'HIDDEN', value: HIDDEN_VALUE })).expect(201);
}

/** One that may be shown: of a sealed one some routes refuse to speak. */
async function makeSecret(api: Api, path: string): Promise<string> {
  const secret = { key: `MADE_${randomUUID().replaceAll('-', '').toUpperCase()}`, value: 'x', sealed: false };
  return (await api.put(path, secret)).expect(201).body.id as string;
}

/** With an object in it. */
async function makeBucket(api: Api): Promise<string> {
  const { id } = (await api.post('/storage/buckets', { name: `made-${randomUUID()}` })).expect(201).body as {
    id: string;
  };
  const content = { raw: 'x', headers: { 'content-type': 'application/octet-stream' } };
  (await api.send('PUT', `/storage/buckets/${id}/objects?key=${OBJECT_KEY}`, content)).expect(201);
  return id;
}

/** With something on it. */
async function makeSite(api: Api): Promise<string> {
  const { id } = (await api.post('/pages', { name: 'made', domain: `${randomUUID()}.localhost` })).expect(201).body as {
    id: string;
  };
  await deploy(api, id);
  return id;
}

async function deploy(api: Api, id: string): Promise<string> {
  return (await api.send('POST', `/pages/${id}/deploy`, archiveForm())).expect(201).body.deployId as string;
}

/** A complete one: while it is being made, some routes refuse it. */
async function makeBackup(api: Api, serverId: string): Promise<string> {
  const { uuid } = (await api.post(`/servers/${serverId}/backups`)).expect(201).body as { uuid: string };
  await api.waitFor(`/servers/${serverId}/backups/${uuid}`, 'READY', 30);
  return uuid;
}

async function makeSnapshot(api: Api, machineId: string): Promise<string> {
  const made = (await api.post(`/lxc/${machineId}/snapshots`, {})).expect(201).body as {
    id: string;
    operationId: string;
  };
  await api.waitFor(`/operations/${made.operationId}`, 'DONE');
  return made.id;
}

/** What has to be true of a record before a route does anything with it. */
const BEFORE: Record<string, (world: World, ids: string[]) => Promise<void>> = {
  // The smallest port that the schema takes is the service's own, at an address that no other service has.
  allocations_setFirewall: async ({ berth }, [id]) => {
    await berth.database.query('UPDATE allocations SET port = 1, ip = server_id WHERE server_id = ? AND is_primary', [
      id,
    ]);
  },
  // One account has no two buckets of a name.
  storage_createBucket: async ({ berth }) => {
    await berth.database.query(
      "UPDATE buckets SET name = NULL, deleted_at = NOW(3) WHERE name NOT LIKE 'made-%' AND deleted_at IS NULL",
    );
  },
  lxc_retry: async ({ berth }, [id]) => {
    await berth.database.query("UPDATE machines SET status = 'INSTALL_FAILED' WHERE id = ?", [id]);
  },
  // A domain has one site, and is kept from others for a while after.
  pages_create: async ({ berth }) => {
    await berth.database.query('UPDATE sites SET domain = NULL, deleted_at = NOW(3) WHERE domain = ?', [SITE_DOMAIN]);
    await berth.database.query('DELETE FROM site_domains WHERE domain = ?', [SITE_DOMAIN]);
  },
  servers_retry: async ({ berth }, [id]) => {
    await berth.database.query("UPDATE servers SET status = 'INSTALL_FAILED' WHERE id = ?", [id]);
  },
};

/** About services with a database only. */
const CONNECTION = '/servers/{id}/db-connection';

const ROOMY = 'roomy';

/** The records that tests of one running platform are about. */
export class World {
  /** Services that are being made or wait to be used, by kind and account. */
  private readonly stocks = new Map<string, Promise<string>[]>();

  constructor(readonly berth: Berth) {
    // A page that is there: the platform's own.
    setSample('seo_scan', { url: `${berth.baseUrl}/docs` });
  }

  /** Somebody whose plan never stands in the way, unless one is named. */
  async person(plan = ROOMY): Promise<Person> {
    if (plan === ROOMY) await this.makePlan(ROOMY, {});
    const account = await this.berth.makeAccount(plan);
    await hide(account.api, '/vault');
    return { ...account, panel: await this.berth.signIn(account) };
  }

  client(person: Person, surface: SurfaceName): Api {
    return surface === 'public' ? person.api : person.panel;
  }

  kindsOf({ path, params }: Route): Kind[] {
    return params.map((name) => {
      const template = path.startsWith(CONNECTION)
        ? CONNECTION
        : path.slice(0, path.indexOf(`{${name}}`) + name.length + 2);
      const kind = KINDS[template];
      if (!kind) throw new Error(`test/contract/support/world.ts does not know how to make what ${template} names.`);
      return kind;
    });
  }

  /** Values for the route's parameters that name records of this person's, made for the occasion and fit for the route. */
  async make(route: Route, owner: Person): Promise<string[]> {
    const values: string[] = [];
    for (const kind of this.kindsOf(route)) values.push(await kind.make(this, owner, [...values]));
    await BEFORE[route.id]?.(this, values);
    return values;
  }

  /** Calls the route as this person, with a body it takes unless told otherwise. */
  call(route: Route, person: Person, values: readonly string[], sent: Sent = {}): Promise<Answer> {
    return callAs(this.client(person, route.surface), route, values, sent);
  }

  /** A plan with these limits; of what is not named there is plenty. */
  async makePlan(
    id: string,
    limits: Partial<Record<'servers' | 'ram' | 'disk' | 'cpu' | 'databases' | 'machines', number>>,
  ): Promise<void> {
    const { database } = this.berth;
    const columns = (await database.query("SELECT * FROM plans WHERE id = 'pro'"))[0]!;
    const row = Object.entries(columns).map(([name, value]) => {
      const limit = (limits as Record<string, number>)[name];
      return name === 'id' ? id : (limit ?? Number(value) * 1000);
    });
    await database.query(`INSERT IGNORE INTO plans VALUES (${row.map(() => '?').join(', ')})`, row);
  }

  /** A service that runs and that nobody else was given. */
  makeServer(owner: Person): Promise<string> {
    return this.inAdvance(`service ${owner.id}`, 5, () => this.install(owner));
  }

  /** Where no worker runs: tells whoever waits for an operation of this service that it has ended. */
  async settle<T>(serverId: string, pending: Promise<T>): Promise<T> {
    let waiting = true;
    const done = pending.finally(() => (waiting = false));
    const end = "UPDATE operations SET status = 'DONE', active_key = NULL WHERE resource_id = ? AND status = 'QUEUED'";
    void done.catch(() => undefined);
    while (waiting) {
      await this.berth.database.query(end, [serverId]);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return done;
  }

  /** A service that runs, with its database. */
  async makeDatabase(owner: Person): Promise<{ id: string; serverId: string }> {
    const serverId = await this.inAdvance(`database ${owner.id}`, 2, () => this.install(owner, { withDatabase: true }));
    const list = (await owner.api.get('/databases')).expect(200).body as { id: string; serverId: string }[];
    return list.find((entry) => entry.serverId === serverId)!;
  }

  /** The next ones are made while this one is used, as most of it is waiting. */
  private inAdvance(what: string, many: number, make: () => Promise<string>): Promise<string> {
    const stock = this.stocks.get(what) ?? [];
    this.stocks.set(what, stock);
    while (stock.length <= many) {
      const made = make();
      // Whoever takes it hears of it.
      made.catch(() => undefined);
      stock.push(made);
    }
    return stock.shift()!;
  }

  private async install({ api }: Person, more: object = {}): Promise<string> {
    const wanted = { name: 'contract', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25, ...more };
    const { id } = (await api.post('/servers', wanted)).expect(201).body as { id: string };
    await api.waitFor(`/servers/${id}`, 'RUNNING', 60);
    await hide(api, `/servers/${id}/vault`);
    return id;
  }

  /** A machine that runs and that nobody else was given. */
  async makeMachine({ api }: Person): Promise<string> {
    const { id } = (await api.post('/lxc', SAMPLE_MACHINE)).expect(201).body as { id: string };
    await api.waitFor(`/lxc/${id}`, 'RUNNING', 60);
    return id;
  }

  async makeOperation(owner: Person): Promise<string> {
    const server = await this.makeServer(owner);
    return (await owner.api.get(`/servers/${server}`)).expect(200).body.lastOperation.id as string;
  }
}

export function callAs(api: Api, route: Route, values: readonly string[], sent: Sent = {}): Promise<Answer> {
  const sample = route.id === 'pages_deploy' ? archiveForm() : { json: sampleBody(route) };
  const body: Sent = 'json' in sent || 'raw' in sent ? {} : sample;
  return api.send(route.method, fill(route.path, values), {
    ...body,
    ...sent,
    headers: { ...body.headers, ...sent.headers },
  });
}

/** The body but for what names the request: by it two answers can be compared to the byte. */
export function impersonal(answer: Answer): string {
  const { instance, requestId } = (answer.body ?? {}) as Record<string, unknown>;
  return answer.text
    .replace(`"requestId":${JSON.stringify(requestId)}`, '"requestId":""')
    .replace(`"instance":${JSON.stringify(instance)}`, '"instance":""');
}

/** Headers that say something of the answer rather than of the moment or the connection. */
export function tellingHeaders({ headers }: Answer): Record<string, unknown> {
  const passing = /^(x-request-id|date|content-length|ratelimit|connection|keep-alive)/;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !passing.test(name)));
}
