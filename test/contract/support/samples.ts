import type { Route, Schema } from './surface.js';

type Body = Record<string, unknown>;

/** As small as a machine may be. The key is nobody's. */
export const SAMPLE_MACHINE = {
  name: 'contract',
  image: 'debian/12',
  cpu: 1,
  ramMb: 256,
  diskGb: 2,
  sshKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f nobody',
};
/** Of the site that the route makes. */
export const SITE_DOMAIN = 'contract.localhost';

/** Bodies for routes whose rules say more than their schema can. */
const SPECIAL: Record<string, Body> = {
  servers_setImage: { image: 'nodejs' },
  servers_setVariable: { value: 'index.js' },
  schedules_addTask: { action: 'command', payload: 'list' },
  serverVault_put: { key: 'CONTRACT', value: 'x' },
  accountVault_put: { key: 'CONTRACT', value: 'x' },
  databases_query: { sql: 'SELECT 1' },
  databases_import: { sql: 'SELECT 1' },
  lxc_create: SAMPLE_MACHINE,
  nocode_create: { name: 'contract', data: '{}' },
  nocode_save: { name: 'contract', data: '{}' },
  seo_scan: { url: 'http://127.0.0.1/' },
  pages_create: { name: 'contract', domain: SITE_DOMAIN },
  chat_set: { userId: '123456789012345678' },
};

/** For what only a running platform knows. */
export function setSample(routeId: string, body: Body): void {
  SPECIAL[routeId] = body;
}

export function sampleOfRoute(routeId: string): Body {
  return SPECIAL[routeId]!;
}

/** What has to stand beside a word, where the schema cannot say it. */
const BESIDE: Record<string, Record<string, Body>> = {
  schedules_addTask: { backup: { payload: null }, power: { payload: 'start' } },
};

/** A body that the route takes: required fields only. */
export function sampleBody(route: Route): Body | undefined {
  if (!route.body) return undefined;
  return SPECIAL[route.id] ?? (sampleOf(route.body) as Body);
}

/** The smallest value that a schema allows. */
export function sampleOf(schema: Schema): unknown {
  if (schema.enum) return schema.enum[0];
  switch (typesOf(schema)[0]) {
    case 'string':
      return schema.format === 'date-time' ? '2099-12-31T00:00:00Z' : 'x'.repeat(schema.minLength ?? 1);
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return false;
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}));
    default:
      return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties![name]!)]));
  }
}

export function typesOf({ type, enum: words }: Schema): string[] {
  return type === undefined ? [words ? 'string' : 'object'] : [type].flat();
}

/** A body that breaks one rule about one field. */
export interface Fault {
  why: string;
  body: Body;
  field: string;
}

/** Every way to be wrong that a body's schema knows. */
export function faultsOf(route: Route): Fault[] {
  const { body: schema } = route;
  if (!schema?.properties) return [];
  const good = sampleBody(route)!;
  const required = new Set(schema.required);
  return Object.entries(schema.properties).flatMap(([field, property]) => {
    const faults = wrongValues(property).map(([why, value]) => ({
      why: `${field} ${why}`,
      body: { ...good, [field]: value },
      field,
    }));
    if (!required.has(field)) return faults;
    const without = Object.fromEntries(Object.entries(good).filter(([name]) => name !== field));
    return [{ why: `${field} is missing`, body: without, field }, ...faults];
  });
}

const OF_TYPE: Record<string, [string, unknown][]> = {
  string: [
    ['is text', 'text'],
    ['is a number as text', '200'],
    ['is a boolean as text', 'true'],
    ['is empty text', ''],
  ],
  number: [
    ['is a whole number', 1],
    ['is a fraction', 200.5],
  ],
  boolean: [['is true', true]],
  null: [['is null', null]],
  array: [
    ['is an array', []],
    ['is an array with an entry', ['x']],
  ],
  object: [['is an object', {}]],
};

function wrongValues(schema: Schema): [why: string, value: unknown][] {
  const types = new Set(typesOf(schema).map((type) => (type === 'integer' ? 'number' : type)));
  const wrongTypes = Object.entries(OF_TYPE)
    .filter(([type]) => !types.has(type))
    .flatMap(([, values]) => values);
  return [...wrongTypes, ...outOfBounds(schema)];
}

function outOfBounds(schema: Schema): [why: string, value: unknown][] {
  const { minimum, maximum, minLength = 0, maxLength, minItems = 0, maxItems } = schema;
  const wrong: [string, unknown][] = [];
  const item = schema.items && sampleOf(schema.items);
  if (typesOf(schema).includes('integer'))
    wrong.push(['is a fraction', (minimum ?? 0) + 0.5], ['is beyond all integers', 1e300]);
  if (minimum !== undefined) wrong.push([`is below ${minimum}`, minimum - 1]);
  if (maximum !== undefined) wrong.push([`is above ${maximum}`, maximum + 1]);
  if (schema.enum) wrong.push(['is none of the words', 'no-such-word']);
  else if (minLength > 0) wrong.push([`is shorter than ${minLength}`, 'x'.repeat(minLength - 1)]);
  if (maxLength !== undefined) wrong.push([`is longer than ${maxLength}`, 'x'.repeat(maxLength + 1)]);
  if (minItems > 0) wrong.push([`has less than ${minItems} entries`, Array.from({ length: minItems - 1 }, () => item)]);
  if (maxItems !== undefined)
    wrong.push([`has more than ${maxItems} entries`, Array.from({ length: maxItems + 1 }, () => item)]);
  if (schema.items) wrong.push(['holds an entry of another type', [{}]]);
  if (schema.uniqueItems) wrong.push(['holds an entry twice', [item, item]]);
  if (schema.format === 'date-time') wrong.push(['is no moment', 'yesterday']);
  return wrong;
}

/** Bodies at the very edge of what the schema allows. */
export function edgesOf(route: Route): Fault[] {
  const good = sampleBody(route);
  const beside = (value: unknown): Body | undefined => BESIDE[route.id]?.[String(value)];
  return Object.entries(route.body?.properties ?? {}).flatMap(
    ([field, { minimum, maximum, minLength, maxLength, enum: words }]) => {
      const texts = words
        ? []
        : [minLength, maxLength].filter((length) => length !== undefined).map((length) => 'x'.repeat(length));
      const numbers = [minimum, maximum].filter((bound) => bound !== undefined);
      return [...texts, ...numbers, ...(words ?? [])].map((value) => {
        const shown =
          typeof value === 'string' && value.length > 20 ? `${value.length} characters` : JSON.stringify(value);
        return { why: `${field} is ${shown}`, body: { ...good, [field]: value, ...beside(value) }, field };
      });
    },
  );
}
