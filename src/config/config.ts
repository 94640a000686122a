import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseEnv } from 'node:util';
import * as parse from './parsers.js';
import type { Parser } from './parsers.js';

export const ROLES = ['api', 'worker', 'node', 'broker'] as const;
export type Role = (typeof ROLES)[number];

interface Setting<T> {
  parse: Parser<T>;
  fallback: string | undefined;
}

function setting<T>(parser: Parser<T>, fallback: string): Setting<T>;
function setting<T>(parser: Parser<T>): Setting<T | undefined>;
function setting<T>(parser: Parser<T>, fallback?: string): Setting<T | undefined> {
  return { parse: parser, fallback };
}

/**
 * Every setting there is. The environment's name of a field is its name in upper case with underscores: `databaseUrl` is
 * read from `DATABASE_URL`. `.env.example` lists them for operators.
 */
const SETTINGS = {
  roles: setting(parse.list(parse.oneOf(...ROLES)), ROLES.join(',')),
  logLevel: setting(parse.oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'), 'info'),

  host: setting(parse.address, '127.0.0.1'),
  port: setting(parse.integer(0, 65535), '3000'),
  internalHost: setting(parse.address, '127.0.0.1'),
  internalPort: setting(parse.integer(0, 65535), '3100'),
  metricsHost: setting(parse.address, '127.0.0.1'),
  metricsPort: setting(parse.integer(0, 65535), '3101'),
  brokerPort: setting(parse.integer(0, 65535), '7458'),
  brokerReadsPerMinute: setting(parse.integer(1, 1_000_000), '600'),
  brokerOfflineSeconds: setting(parse.integer(0, 86_400), '600'),

  consoleHost: setting(parse.address, '127.0.0.1'),
  consolePort: setting(parse.integer(0, 65535), '3200'),
  consoleOrigins: setting(parse.list(parse.url('http:', 'https:')), ''),
  consoleUrl: setting(parse.url('ws:', 'wss:'), 'ws://127.0.0.1:3200'),
  sftpHost: setting(parse.address, '127.0.0.1'),
  sftpPort: setting(parse.integer(0, 65535), '2022'),
  sftpHostKeyFile: setting(parse.text),
  workshopSocketDir: setting(parse.text),
  firewall: setting(parse.oneOf('on', 'off'), 'on'),
  firewallTable: setting(parse.tableName, 'berth'),

  cdnHost: setting(parse.address, '127.0.0.1'),
  cdnPort: setting(parse.integer(0, 65535), '3300'),
  cdnUrl: setting(parse.url('http:', 'https:'), 'http://127.0.0.1:3300'),
  cdnRateLimitPerMinute: setting(parse.integer(1, 10_000_000), '6000'),

  dnsServers: setting(parse.list(parse.addressAndPort), ''),
  scanAllowAddresses: setting(parse.list(parse.addressOrRange), ''),
  pagesHost: setting(parse.address, '127.0.0.1'),
  pagesHttpPort: setting(parse.integer(0, 65535), '3080'),
  pagesHttpsPort: setting(parse.integer(1, 65535), '3443'),
  pagesPublicHttpPort: setting(parse.integer(1, 65535)),
  pagesPublicHttpsPort: setting(parse.integer(1, 65535)),
  pagesOriginPort: setting(parse.integer(0, 65535), '3081'),
  pagesPreviewDomain: setting(parse.domain),
  pagesCacheMb: setting(parse.integer(1, 1_000_000), '64'),
  pagesTempDir: setting(parse.text, tmpdir()),
  pagesFileLimit: setting(parse.integer(1, 1_000_000), '10000'),
  pagesInflatedLimitMb: setting(parse.integer(1, 10_000), '250'),
  caddyAdminUrl: setting(parse.url('unix:', 'http:')),
  caddyStorageDir: setting(parse.text),
  caddyLogPort: setting(parse.integer(0, 65535), '3082'),
  acmeDirectory: setting(parse.url('http:', 'https:')),
  acmeCaFile: setting(parse.text),
  acmeEmail: setting(parse.word),

  publicUrl: setting(parse.url('http:', 'https:'), 'http://127.0.0.1:3000'),
  publicAddress: setting(parse.list(parse.address), '127.0.0.1'),
  portRange: setting(parse.portRange, '20000-29999'),
  trustedProxies: setting(parse.list(parse.addressOrRange), ''),
  rateLimitPerMinute: setting(parse.integer(1, 1_000_000), '120'),
  panelRateLimitPerMinute: setting(parse.integer(1, 1_000_000), '600'),

  databaseUrl: setting(parse.url('mysql:', 'mariadb:')),
  databasePoolSize: setting(parse.integer(2, 500), '20'),
  redisUrl: setting(parse.url('redis:', 'rediss:')),
  objectStoreUrl: setting(parse.url('file:', 's3:')),
  s3Region: setting(parse.word, 'us-east-1'),
  s3Endpoint: setting(parse.url('http:', 'https:')),

  engineUrl: setting(parse.url('unix:', 'https:', 'simulator:')),
  engineProject: setting(parse.text, 'berth'),
  enginePool: setting(parse.text, 'berth'),
  enginePoolSizeGb: setting(parse.integer(5, 100_000), '40'),
  engineClientCertFile: setting(parse.text),
  engineClientKeyFile: setting(parse.text),
  engineCaFile: setting(parse.text),
  imageDir: setting(parse.text, '.berth/cache/images'),
  appNetwork: setting(parse.text, 'berth0'),
  appSubnet: setting(parse.gateway, '10.158.0.1/16'),
  machineNetwork: setting(parse.text, 'berth0m'),
  machineSubnet: setting(parse.gateway, '10.58.0.1/16'),

  nodeName: setting(parse.text, 'node-1'),
  nodeTokenFile: setting(parse.text),
  internalUrl: setting(parse.url('http:', 'https:'), 'http://127.0.0.1:3100'),

  oidcIssuer: setting(parse.url('http:', 'https:')),
  oidcClientId: setting(parse.text),
  oidcClientSecret: setting(parse.text),
  sessionSecretFile: setting(parse.text),
  passwordKeyFile: setting(parse.text),
  signup: setting(parse.oneOf('open', 'closed'), 'open'),

  chatApiUrl: setting(parse.url('http:', 'https:'), 'https://discord.com/api/v10'),
  chatBotToken: setting(parse.word),

  keyProvider: setting(parse.oneOf('local', 'vault-transit', 'aws-kms'), 'local'),
  masterKeyFile: setting(parse.text),
  transitUrl: setting(parse.url('http:', 'https:')),
  transitMount: setting(parse.word, 'transit'),
  transitKey: setting(parse.word),
  transitTokenFile: setting(parse.text),
  transitRoleId: setting(parse.word),
  transitSecretIdFile: setting(parse.text),
  transitCaFile: setting(parse.text),
  kmsKeyId: setting(parse.word),
  kmsPreviousKeyId: setting(parse.word),
  kmsRegion: setting(parse.word),
  kmsEndpoint: setting(parse.url('http:', 'https:')),
  vaultAnchorFile: setting(parse.text),
  vaultAllowedAddresses: setting(parse.list(parse.addressOrRange), ''),

  databaseQueryTimeoutSeconds: setting(parse.integer(1, 3600), '30'),
  databaseImportTimeoutSeconds: setting(parse.integer(1, 3600), '120'),
  databaseSizeLimitMb: setting(parse.integer(1, 1_000_000), '1024'),

  gitAllowFile: setting(parse.boolean, 'false'),
  historyDays: setting(parse.integer(1, 36_500), '365'),
  operationLeaseSeconds: setting(parse.integer(1, 600), '15'),
  installTimeoutSeconds: setting(parse.integer(10, 86_400), '900'),
  backupConcurrency: setting(parse.integer(1, 1000), '2'),
  stopTimeoutSeconds: setting(parse.integer(1, 600), '30'),
} satisfies Record<string, Setting<unknown>>;

type Settings = { -readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never };

/** The settings of this process, validated once at start. Nothing else reads the environment. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the fields are those of the table above
export class Config {
  constructor(values: Settings) {
    Object.assign(this, values);
  }

  /** The value of a setting that a role cannot do without. */
  require<K extends keyof Settings>(name: K): NonNullable<Settings[K]> {
    const value = (this as Settings)[name];
    if (value === undefined || value === '') throw new ConfigError(`Settings: ${environmentName(name)} is missing.`);
    return value as NonNullable<Settings[K]>;
  }
}
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export interface Config extends Settings {}

/** Settings that are missing, unknown or malformed; the message names each of them and never a value. */
export class ConfigError extends Error {}

export function environmentName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** Names of all settings as they stand in the environment. */
export function settingNames(): string[] {
  return Object.keys(SETTINGS).map(environmentName);
}

/** Reads the settings from `.env` and the environment, which wins. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env, envFile = '.env'): Config {
  const fromFile = existsSync(envFile) ? parseEnv(readFileSync(envFile, 'utf8')) : {};
  const names = new Set(settingNames());
  const faults = Object.keys(fromFile)
    .filter((name) => !names.has(name))
    .map((name) => `${name} in ${envFile} is not a setting`);
  const values: Record<string, unknown> = {};
  for (const [field, { parse: parser, fallback }] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const name = environmentName(field);
    const given = environment[name] ?? fromFile[name];
    const value = given === undefined || given === '' ? fallback : given;
    if (value === undefined) continue;
    try {
      values[field] = parser(value);
    } catch (error) {
      faults.push(`${name} must be ${(error as Error).message}`);
    }
  }
  const { cdnUrl, publicUrl } = values as Partial<Settings>;
  if (cdnUrl && publicUrl && new URL(cdnUrl).origin === new URL(publicUrl).origin) {
    faults.push('CDN_URL must be another origin than PUBLIC_URL, as tenants decide what stands there');
  }
  const { appNetwork, machineNetwork } = values as Partial<Settings>;
  if (appNetwork === machineNetwork) faults.push('MACHINE_NETWORK must be another network than APP_NETWORK');
  if (faults.length > 0) throw new ConfigError(`Settings: ${faults.join('; ')}.`);
  return new Config(values as Settings);
}

/** Reads the secret in the file that a setting names. A file that others may read is refused, as it no longer is one. */
export function readSecretFile(
  config: Config,
  name: 'nodeTokenFile' | 'sessionSecretFile' | 'passwordKeyFile',
): string {
  const file = config.require(name);
  const label = environmentName(name);
  let mode: number;
  let content: string;
  try {
    mode = statSync(file).mode;
    content = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ConfigError(`Settings: the file that ${label} names cannot be read.`, { cause });
  }
  if ((mode & 0o077) !== 0) throw new ConfigError(`Settings: the file that ${label} names must have mode 0600.`);
  if (content.length < 32)
    throw new ConfigError(`Settings: the file that ${label} names holds no secret of 32 characters.`);
  return content;
}

/** Reads the certificates (PEM) in the file that a setting names; undefined where it names none. */
export function readCertificates(config: Config, name: 'acmeCaFile'): string | undefined {
  const file = config[name];
  if (file === undefined) return undefined;
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
    for (const [pem] of content.matchAll(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g))
      new X509Certificate(pem);
  } catch (cause) {
    const label = environmentName(name);
    throw new ConfigError(`Settings: the file that ${label} names cannot be read as certificates.`, { cause });
  }
  if (!content.includes('-----BEGIN CERTIFICATE-----'))
    throw new ConfigError(`Settings: the file that ${environmentName(name)} names holds no certificate.`);
  return content;
}
