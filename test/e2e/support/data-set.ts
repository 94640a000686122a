import type { Program } from './program.js';

/** Makes, in a service's own container, files of every kind that a backup could get wrong. */
const MAKE = `
import os, socket
base = b'/home/container/odd'
os.makedirs(base)
def put(name, content=b'content', mode=0o644):
    path = os.path.join(base, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as out:
        out.write(content)
    os.chmod(path, mode)
    return path
for name in [b'-rf', b'--checkpoint-action=exec=false', b' blank ', b'line\\nbreak', b'tab\\t', b'quote"\\'', b'back\\\\slash',
             b'\\xff\\xfe not utf-8', 'ünïcödé 漢字 🎈'.encode(), b'*', b'$(false)', b'x' * 255, b'.hidden', b'...', b'%2e%2e']:
    put(name)
put(b'/'.join([b'deep' * 20] * 8) + b'/file')
put(b'empty', b'')
put(b'random', os.urandom(3 << 20))
for mode in [0o000, 0o400, 0o200, 0o777, 0o4755, 0o2755]:
    put(b'mode-%04o' % mode, b'content', mode)
os.mkdir(base + b'/sticky'); os.chmod(base + b'/sticky', 0o1777)
os.mkdir(base + b'/empty folder'); os.chmod(base + b'/empty folder', 0o700)
sealed = base + b'/no write'
os.mkdir(sealed); open(sealed + b'/inside', 'wb').close(); os.chmod(sealed, 0o500)
for name, target in [(b'to-file', b'random'), (b'dangling', b'nowhere'), (b'absolute', b'/etc/passwd'), (b'up', b'../../../etc'), (b'loop', b'loop'), (b'to-folder', b'sticky')]:
    os.symlink(target, os.path.join(base, name))
os.link(base + b'/random', base + b'/hard')
os.link(base + b'/random', base + b'/sticky/hard')
with open(base + b'/sparse', 'wb') as out:
    out.write(b'head'); out.seek(300 << 20); out.write(b'middle'); out.truncate(900 << 20)
with open(base + b'/all-hole', 'wb') as out:
    out.truncate(64 << 20)
os.mkfifo(base + b'/fifo')
os.setxattr(base + b'/random', 'user.note', b'kept')
os.utime(base + b'/random', ns=(1, 981173106987654321))
os.utime(base + b'/sticky', ns=(1, 1234567890123456789))
`;

/** What there is: of each name its kind, mode, owner, time, size, content and what it is linked to. */
const LIST = `
import hashlib, json, os, stat
found, inodes = {}, {}
def digest(path):
    sha = hashlib.sha256()
    with open(path, 'rb') as source:
        while block := source.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()
def see(path):
    s = os.lstat(path)
    entry = [stat.S_IFMT(s.st_mode), stat.S_IMODE(s.st_mode), s.st_uid, s.st_gid, s.st_nlink if not stat.S_ISDIR(s.st_mode) else 0, s.st_mtime_ns]
    if stat.S_ISLNK(s.st_mode):
        entry.append(os.readlink(path).hex())
    if stat.S_ISREG(s.st_mode):
        entry += [s.st_size, inodes.setdefault(s.st_ino, path.hex()), s.st_blocks * 512 < s.st_size / 4]
        entry += [sorted(os.listxattr(path))]
        if s.st_mode & 0o400 and s.st_size < (100 << 20):
            entry.append(digest(path))
    found[path.hex()] = entry
for folder, names, files in os.walk(b'/home/container/odd'):
    names.sort()
    see(folder)
    for name in sorted(names + files):
        see(os.path.join(folder, name))
print(json.dumps(found))
`;

export async function makeOddFiles(program: Program): Promise<void> {
  await python(program, MAKE);
}

export async function listOddFiles(program: Program): Promise<Record<string, unknown[]>> {
  return JSON.parse(await python(program, LIST)) as Record<string, unknown[]>;
}

/**
 * A program beside the program that writes two files in turn, each at once, as fast as it can: at any moment the first is
 * as far as the second, or one ahead.
 */
export async function startWriter(program: Program): Promise<void> {
  const source = `
import os
for n in range(10**9):
    for name in ('first', 'second'):
        with open('/home/container/' + name + '.new', 'w') as out:
            out.write(str(n))
        os.rename('/home/container/' + name + '.new', '/home/container/' + name)
`;
  await python(
    program,
    `import subprocess\nsubprocess.Popen(['python3', '-c', ${JSON.stringify(source)}], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)`,
  );
}

/** Runs a script as the program's user; answers what it printed. */
export async function python(program: Program, source: string): Promise<string> {
  const { code, output } = await program.run('python3', '-c', source);
  if (code !== 0) throw new Error(`the script inside ended with ${code}: ${output}`);
  return output;
}

export async function readFile(program: Program, name: string): Promise<string | null> {
  const { code, output } = await program.run('cat', `/home/container/${name}`);
  return code === 0 ? output : null;
}

export async function writeFile(program: Program, name: string, content: string): Promise<void> {
  await python(program, `open(${JSON.stringify(`/home/container/${name}`)}, 'w').write(${JSON.stringify(content)})`);
}
