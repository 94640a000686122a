import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import ssh2, { type SFTPWrapper } from 'ssh2';
import type { ActivityReports } from '../../../src/node/activity/activity-reports.js';
import { LiveSessions } from '../../../src/node/sessions/live-sessions.js';
import { SftpListener } from '../../../src/node/sftp/sftp-listener.js';
import { packet, PacketReader, REPLY, REQUEST, STATUS, statusReply } from '../../../src/node/sftp/sftp-protocol.js';
import type { Workshops } from '../../../src/node/sftp/workshops.js';
import type { InternalApiClient } from '../../../src/platform/internal-api/internal-api.client.js';
import { createLogger } from '../../../src/platform/observability/logger.js';
import { OpenSsh, type Login } from '../../e2e/support/openssh.js';

/** The listener with clients that are none of ours; what would be OpenSSH's server only notes the links it is to make. */

const FILES = '/home/container';

let openssh: OpenSsh;
let sessions: LiveSessions;
let listener: SftpListener;
let login: Login;
const links: { target: string; link: string }[] = [];

function answer(frame: Buffer): Buffer {
  const reader = new PacketReader(frame);
  const id = reader.uint32();
  switch (reader.type) {
    case REQUEST.INIT:
      return packet(REPLY.VERSION, 3);
    case REQUEST.REALPATH: {
      const path = reader.text();
      return packet(REPLY.NAME, id, 1, path, path, 0);
    }
    case REQUEST.SYMLINK:
      links.push({ target: reader.text(), link: reader.text() });
      return statusReply(id, STATUS.OK, 'done');
    default:
      return statusReply(id, STATUS.NO_SUCH_FILE, 'nothing here');
  }
}

function server() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let bytes = Buffer.alloc(0);
  stdin.on('data', (data: Buffer) => {
    bytes = Buffer.concat([bytes, data]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE()) {
      const end = 4 + bytes.readUInt32BE();
      stdout.write(answer(bytes.subarray(0, end)));
      bytes = bytes.subarray(end);
    }
  });
  stdin.on('end', () => stdout.end());
  return { stdin, stdout, stderr, exit: Promise.resolve(0), kill: async () => void stdout.destroy() };
}

beforeAll(async () => {
  openssh = new OpenSsh();
  const log = createLogger({ logLevel: 'fatal' });
  const visitor = { serverId: 'srv', accountId: 'usr', image: 'nodejs', credentialVersion: 1 };
  const api = {
    sftpLogin: async () => visitor,
    sessions: async () => ({ close: [], servers: [] }),
  } as unknown as InternalApiClient;
  sessions = new LiveSessions(api, log);
  listener = new SftpListener(
    readFileSync(openssh.hostKeyFile, 'utf8'),
    api,
    {
      workshops: { enter: async () => ({ server: server(), release: () => {} }) } as unknown as Workshops,
      sessions,
      activity: { add: () => {} } as unknown as ActivityReports,
      log,
    },
    log,
  );
  login = { port: await listener.listen('127.0.0.1', 0), username: 'somebody', password: 'anything' };
});
beforeEach(() => links.splice(0));
afterAll(async () => {
  await listener?.close();
  await sessions?.stop();
  openssh?.close();
});

const expected = [{ target: 'folder/main.py', link: `${FILES}/link` }];

test("OpenSSH's client makes a link that stands where it is asked to", async () => {
  const { code, stderr } = await openssh.batch(login, ['symlink folder/main.py link']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(links).toEqual(expected);
});

test('so does one that goes by the name of the server', async () => {
  const client = new ssh2.Client();
  client.connect({ host: '127.0.0.1', readyTimeout: 20_000, ...login });
  await once(client, 'ready');
  const sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
    client.sftp((error, made) => (error ? reject(error) : resolve(made)));
  });
  await new Promise<void>((resolve, reject) => {
    sftp.symlink('folder/main.py', 'link', (error) => (error ? reject(error) : resolve()));
  });
  client.end();
  expect(links).toEqual(expected);
});
