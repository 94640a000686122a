import { randomBytes } from 'node:crypto';
import { pathInside } from './path-rule.js';
import { RequestRules } from './request-rules.js';
import { MalformedPacket, packet, REPLY, REQUEST, STATUS, statusReply } from './sftp-protocol.js';

/** A server on which every path is a regular file that is where its name says. */
const rules = new RequestRules(async (question) => {
  const path = question.toString('latin1', 13);
  if (question[4] === REQUEST.REALPATH) return packet(REPLY.NAME, 1, 1, path, path);
  return packet(REPLY.ATTRS, 1, 4, 0o100644);
});
const NO_ATTRIBUTES = 0;

test.each([
  ['main.py', '/home/container/main.py'],
  ['./a/../b//c/', '/home/container/b/c'],
  ['/home/container', '/home/container'],
  ['/home/container/../container/x', '/home/container/x'],
  ['', '/home/container'],
])('%s is inside', (path, resolved) => expect(pathInside(path)).toBe(resolved));

test.each(['..', '/', '/home', '/home/containers', 'a/../../x', '/etc/passwd', 'a\0b', 'x'.repeat(5000)])(
  '%s is outside',
  (path) => expect(pathInside(path)).toBeNull(),
);

test('paths are handed on in their plain form', async () => {
  const outcome = await rules.judge(packet(REQUEST.OPEN, 7, './x/../y', 1, NO_ATTRIBUTES));
  expect(outcome).toEqual({ pass: packet(REQUEST.OPEN, 7, '/home/container/y', 1, NO_ATTRIBUTES) });
});

test('a new file does not get the bits that borrow rights, and asking for them later is refused', async () => {
  const outcome = await rules.judge(packet(REQUEST.OPEN, 7, 'x', 0x1a, 4, 0o106755));
  expect(outcome).toMatchObject({ pass: packet(REQUEST.OPEN, 7, '/home/container/x', 0x1a, 4, 0o100755) });
  const refused = { refuse: STATUS.PERMISSION_DENIED };
  expect(await rules.judge(packet(REQUEST.SETSTAT, 7, 'x', 4, 0o4755))).toMatchObject(refused);
  expect(await rules.judge(packet(REQUEST.FSETSTAT, 7, 'handle', 4, 0o2755))).toMatchObject(refused);
  const lsetstat = packet(REQUEST.EXTENDED, 7, 'lsetstat@openssh.com', 'x', 4, 0o4755);
  expect(await rules.judge(lsetstat)).toMatchObject(refused);
});

test.each(['hardlink@openssh.com', 'expand-path@openssh.com', 'constructor', '__proto__', ''])(
  'the extension %s is refused',
  async (name) => {
    const outcome = await rules.judge(packet(REQUEST.EXTENDED, 7, name, 'a', 'b'));
    expect(outcome).toMatchObject({ refuse: STATUS.UNSUPPORTED });
  },
);

test('the greeting offers only the extensions that are allowed', () => {
  const greeting = packet(REPLY.VERSION, 3, 'hardlink@openssh.com', '1', 'fsync@openssh.com', '1', 'unheard-of', 'x');
  expect(RequestRules.offered(greeting)).toEqual(packet(REPLY.VERSION, 3, 'fsync@openssh.com', '1'));
});

test('links may lead to the files only', async () => {
  const symlink = (target: string) => rules.judge(packet(REQUEST.SYMLINK, 7, target, 'folder/link'));
  expect(await symlink('../main.py')).toMatchObject({ done: { event: 'server:sftp.create', path: 'folder/link' } });
  for (const target of ['../../x', '/etc/passwd', '']) {
    expect(await symlink(target)).toMatchObject({ refuse: STATUS.PERMISSION_DENIED });
  }
});

/** Where paths lead in a place in which `out` is a link to `/etc` and `in` one to a folder of its own. */
const LEADS: [from: string, to: string][] = [
  ['/home/container/out', '/etc'],
  ['/home/container/in', '/home/container/folder'],
];

function amongLinks(path: string): string {
  const link = LEADS.find(([from]) => path === from || path.startsWith(`${from}/`));
  return link ? link[1] + path.slice(link[0].length) : path;
}

describe('links on the server', () => {
  const among = new RequestRules(async (question) => {
    const path = question.toString('latin1', 13);
    if (question[4] === REQUEST.REALPATH) return packet(REPLY.NAME, 1, 1, amongLinks(path), '', 0);
    return packet(REPLY.ATTRS, 1, 4, 0o100644);
  });
  const EXTENSION = (name: string, ...fields: (string | number)[]) => packet(REQUEST.EXTENDED, 7, name, ...fields);
  const following: [string, (path: string) => Buffer][] = [
    ['open', (path) => packet(REQUEST.OPEN, 7, path, 1, NO_ATTRIBUTES)],
    ['opendir', (path) => packet(REQUEST.OPENDIR, 7, path)],
    ['stat', (path) => packet(REQUEST.STAT, 7, path)],
    ['realpath', (path) => packet(REQUEST.REALPATH, 7, path)],
    ['setstat', (path) => packet(REQUEST.SETSTAT, 7, path, NO_ATTRIBUTES)],
    ['statvfs', (path) => EXTENSION('statvfs@openssh.com', path)],
  ];
  const itself: [string, (path: string) => Buffer][] = [
    ['lstat', (path) => packet(REQUEST.LSTAT, 7, path)],
    ['readlink', (path) => packet(REQUEST.READLINK, 7, path)],
    ['remove', (path) => packet(REQUEST.REMOVE, 7, path)],
    ['rmdir', (path) => packet(REQUEST.RMDIR, 7, path)],
    ['mkdir', (path) => packet(REQUEST.MKDIR, 7, path, NO_ATTRIBUTES)],
    ['rename from it', (path) => packet(REQUEST.RENAME, 7, path, 'x')],
    ['rename to it', (path) => packet(REQUEST.RENAME, 7, 'x', path)],
    ['posix-rename', (path) => EXTENSION('posix-rename@openssh.com', path, 'x')],
    ['symlink', (path) => packet(REQUEST.SYMLINK, 7, '/home/container/x', path)],
    ['lsetstat', (path) => EXTENSION('lsetstat@openssh.com', path, NO_ATTRIBUTES)],
  ];
  const denied = { refuse: STATUS.PERMISSION_DENIED };
  const passes = { pass: expect.any(Buffer) as unknown };

  test.each(following)('%s goes where they lead, unless that is outside', async (_name, request) => {
    for (const path of ['out', 'out/passwd', 'in/../out'])
      expect(await among.judge(request(path))).toMatchObject(denied);
    for (const path of ['in', 'in/x', 'x', '']) expect(await among.judge(request(path))).toMatchObject(passes);
  });

  test.each(itself)('%s is about the link, unless one before it leads out', async (_name, request) => {
    for (const path of ['out/passwd', 'out/a/b']) expect(await among.judge(request(path))).toMatchObject(denied);
    for (const path of ['out', 'in', 'in/x', 'x', '']) expect(await among.judge(request(path))).toMatchObject(passes);
  });
});

test('whatever the packet, it is judged or called malformed', async () => {
  for (let round = 0; round < 3000; round++) {
    const body = randomBytes(4 + Math.floor(Math.random() * 40));
    if (round % 2) body.fill(0, 4, Math.min(7, body.length));
    const head = Buffer.from([0, 0, 0, body.length + 1, round % 21]);
    try {
      expect(await rules.judge(Buffer.concat([head, body]))).toBeDefined();
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedPacket);
    }
  }
});

test('our own answers are as the protocol has them', () => {
  expect(statusReply(9, STATUS.FAILURE, 'no').toString('hex')).toBe(
    '000000156500000009000000040000000' + '26e6f00000002656e',
  );
});
