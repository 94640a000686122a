/**
 * Builds the image and starts it once, as an operator would: `node deploy/try-image.mjs`, after `npm ci` and with Docker.
 * DATABASE_URL and REDIS_URL name a database and a Redis to try it with; without them it only builds.
 * NPMRC names an npm configuration for the build, if one is needed; it stays out of the image.
 * Where no image registry can be reached, a stand-in for the base image is made from Debian packages (mmdebstrap, root).
 */
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

const REPOSITORY = dirname(dirname(fileURLToPath(import.meta.url)));
const IMAGE = 'berth:try';
const CONTAINER = 'berth-try';
const CA_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const PORTS = { PORT: '13000', INTERNAL_PORT: '13100', METRICS_PORT: '13101', CDN_PORT: '13300' };
/** The image runs as the user with this number; secret files must belong to it. */
const IMAGE_USER = 1000;

const scratch = mkdtempSync(join(tmpdir(), 'berth-image-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));

/** @param {string[]} args */
const run = (program, ...args) =>
  execFileSync(program, args, { stdio: 'inherit', env: { ...process.env, DOCKER_BUILDKIT: '1' } });

/** @param {string[]} args */
const ask = (program, ...args) =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** @param {() => unknown} work */
function succeeds(work) {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/** Makes the image that the Dockerfile names: Debian, the project's Node, npm that trusts whom this machine trusts, the user `node`. */
function makeBase(name) {
  const context = join(scratch, 'base');
  const npm = dirname(dirname(realpathSync(ask('which', 'npm'))));
  mkdirSync(context);
  run('mmdebstrap', '--variant=minbase', '--quiet', 'bookworm', join(scratch, 'debian.tar'));
  run('docker', 'import', join(scratch, 'debian.tar'), 'berth-try-debian');
  cpSync(join(REPOSITORY, 'node_modules/node/bin/node'), join(context, 'node'));
  cpSync(npm, join(context, 'npm'), { recursive: true });
  if (existsSync(CA_BUNDLE)) cpSync(CA_BUNDLE, join(context, 'ca.crt'));
  else writeFileSync(join(context, 'ca.crt'), rootCertificates.join('\n'));
  writeFileSync(join(context, 'npmrc'), `cafile=${CA_BUNDLE}\n`);
  writeFileSync(
    join(context, 'Dockerfile'),
    [
      'FROM berth-try-debian',
      'COPY node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      `COPY ca.crt ${CA_BUNDLE}`,
      'COPY npmrc /usr/local/etc/npmrc',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --uid 1000 --user-group --create-home node',
    ].join('\n'),
  );
  run('docker', 'build', '--quiet', '--network=none', '--tag', name, context);
}

function buildImage() {
  const base = /^ARG NODE_IMAGE=(\S+)$/m.exec(readFileSync(join(REPOSITORY, 'Dockerfile'), 'utf8'))[1];
  const there = succeeds(() => ask('docker', 'image', 'inspect', base)) || succeeds(() => ask('docker', 'pull', base));
  if (!there) makeBase(base);
  const { NPMRC } = process.env;
  run(
    'docker',
    'build',
    '--network=host',
    ...(NPMRC ? ['--secret', `id=npmrc,src=${NPMRC}`] : []),
    '--tag',
    IMAGE,
    REPOSITORY,
  );
  const bytes = Number(ask('docker', 'image', 'inspect', '--format', '{{.Size}}', IMAGE));
  console.log(`Image ${IMAGE}: ${Math.round(bytes / 1e6)} MB`);
}

async function tryImage(databaseUrl, redisUrl) {
  const settings = join(scratch, 'berth.env');
  const session = join(scratch, 'session-secret');
  const secrets = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl };
  const lines = Object.entries(secrets).map(([name, value]) => `${name}='${value}'`);
  writeFileSync(settings, `${lines.join('\n')}\n`, { mode: 0o600 });
  writeFileSync(session, randomBytes(32).toString('hex'), { mode: 0o600 });
  const passwordKey = join(scratch, 'password-key');
  writeFileSync(passwordKey, randomBytes(32).toString('hex'), { mode: 0o600 });
  const masterKey = join(scratch, 'master-key');
  writeFileSync(masterKey, `k1 ${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  for (const file of [settings, session, passwordKey, masterKey]) chownSync(file, IMAGE_USER, IMAGE_USER);
  const options = [
    ...['--network=host', '--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--memory=512m'],
    '--tmpfs=/var/lib/berth/objects:uid=1000,mode=0700',
    '--tmpfs=/var/lib/berth/vault:uid=1000,mode=0700',
    ...['--volume', `${masterKey}:/run/secrets/master-key:ro`],
    ...['--volume', `${settings}:/app/.env:ro`, '--volume', `${session}:/run/secrets/session:ro`],
    ...['--volume', `${passwordKey}:/run/secrets/password-key:ro`],
    ...Object.entries({
      ROLES: 'api',
      ENGINE_URL: 'simulator:',
      OBJECT_STORE_URL: 'file:///var/lib/berth/objects',
      SESSION_SECRET_FILE: '/run/secrets/session',
      PASSWORD_KEY_FILE: '/run/secrets/password-key',
      MASTER_KEY_FILE: '/run/secrets/master-key',
      VAULT_ANCHOR_FILE: '/var/lib/berth/vault/anchor',
      ...PORTS,
    }).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
  ];
  const berth = (...args) =>
    JSON.parse(ask('docker', 'run', '--rm', ...options, '--entrypoint=berth', IMAGE, '--json', ...args));

  console.log(`Migrations applied: ${berth('migrate').applied.length}`);
  const username = `try-${randomBytes(4).toString('hex')}`;
  const { id } = berth('account', 'create', '--username', username, '--email', `${username}@example.test`);
  const { key } = berth('key', 'create', '--account', id, '--scopes', 'read');
  ask('docker', 'run', '--detach', '--name', CONTAINER, ...options, IMAGE);
  try {
    await show(`http://127.0.0.1:${PORTS.PORT}/health/ready`);
    await show(`http://127.0.0.1:${PORTS.PORT}/api/v1/me`, { authorization: `Bearer ${key}` });
    await show(`http://127.0.0.1:${PORTS.PORT}/api/v1/me`);
    run('docker', 'exec', CONTAINER, 'node', '-p', "'user ' + process.getuid() + ', Node ' + process.version");
    const health = '{{.State.Health.Status}}';
    while (ask('docker', 'inspect', '--format', health, CONTAINER) === 'starting') await sleep(1000);
    console.log(`Health: ${ask('docker', 'inspect', '--format', health, CONTAINER)}`);
    run('docker', 'stop', '--time=50', CONTAINER);
    console.log(`Exit code after SIGTERM: ${ask('docker', 'inspect', '--format', '{{.State.ExitCode}}', CONTAINER)}`);
  } catch (error) {
    run('docker', 'logs', CONTAINER);
    throw error;
  } finally {
    ask('docker', 'rm', '--force', CONTAINER);
  }
}

/** Prints what an address answers, once it does. */
async function show(url, headers = {}) {
  for (const until = Date.now() + 30_000; ; await sleep(200)) {
    try {
      const response = await fetch(url, { headers });
      console.log(`GET ${new URL(url).pathname}: ${response.status} ${await response.text()}`);
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

buildImage();
const { DATABASE_URL, REDIS_URL } = process.env;
if (DATABASE_URL && REDIS_URL) await tryImage(DATABASE_URL, REDIS_URL);
