#!/usr/bin/env node
/**
 * Builds the runtime and machine images as unified image tarballs. A file's name holds a hash of everything that decides its
 * content, so an unchanged image is not built again. Needs root, mmdebstrap and zstd; no npm packages.
 *
 *   node images/build.mjs --out <folder> [--fresh] [name…]
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { aptSources } from './lib/apt-sources.mjs';
import { bootstrapMachine, finishMachine } from './lib/machine.mjs';
import { bootstrap, extend, harden, overlay, pack, removePaths, unpack } from './lib/rootfs.mjs';
import { MACHINES } from './machines.mjs';
import { COMMON_PACKAGES, COMMON_SLIM, RUNTIMES, SUITE } from './runtimes.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const ALL = [...Object.keys(RUNTIMES), ...Object.keys(MACHINES)];
const LEFTOVER_MS = 2 * 3600_000;
const ARCHITECTURES = { x64: 'x86_64', arm64: 'aarch64' };

/**
 * Answers `[{name, file, properties, built}]`, in the order of `names` (all when left out). `log` takes progress lines;
 * `fresh` builds anew what is there already, with today's Debian packages.
 */
export async function buildImages({ outDir, names = ALL, log = () => {}, fresh = false }) {
  for (const name of names) if (!ALL.includes(name)) throw new Error(`No such image: ${name}`);
  await mkdir(outDir, { recursive: true });
  await removeLeftovers(outDir);
  const images = await Promise.all(names.map((name) => describe(name, outDir)));
  for (const image of images) image.built = fresh || !(await exists(image.file));
  for (const image of images) if (!image.built) log(`Image ${image.name}: unchanged`);
  // The longest build first; two at a time keep a small machine's processors busy without starving it.
  const queue = images.filter((image) => image.built).sort((a, b) => weight(b.name) - weight(a.name));
  if (queue.length > 0) {
    const sources = await aptSources(SUITE);
    const runtimes = queue.some(({ name }) => Object.hasOwn(RUNTIMES, name));
    const base = runtimes ? await buildBase({ outDir, sources, log, fresh }) : null;
    const worker = async () => {
      for (let image = queue.shift(); image; image = queue.shift()) {
        await (Object.hasOwn(MACHINES, image.name) ? buildMachine : build)({ image, outDir, base, sources, log });
      }
    };
    await Promise.all([worker(), worker()]);
  }
  return images.map(({ name, file, properties, built }) => ({ name, file, properties, built }));
}

const exists = (file) =>
  stat(file).then(
    () => true,
    () => false,
  );

/** What all images have in common, made once and kept: most of the time goes into it. */
async function buildBase({ outDir, sources, log, fresh }) {
  const hash = createHash('sha256').update(JSON.stringify([SUITE, process.arch, COMMON_PACKAGES]));
  hash.update(await readFile(join(here, 'lib/rootfs.mjs')));
  const file = join(outDir, `base-${hash.digest('hex').slice(0, 16)}.tar.zst`);
  if (!fresh && (await exists(file))) return file;
  const say = stopwatch('base', log);
  const target = await mkdtemp(join(outDir, '.build-base-'));
  try {
    say('installing Debian packages');
    await bootstrap({ target, suite: SUITE, packages: COMMON_PACKAGES, sources, onLine: steps(say) });
    await pack(file, target, ['.']);
    await removeOlder(outDir, 'base', file);
    say('done');
    return file;
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}

function stopwatch(name, log) {
  const started = Date.now();
  return (text) => log(`Image ${name}: ${text} (${Math.round((Date.now() - started) / 1000)} s)`);
}

function steps(say) {
  return (line) => {
    const step = /^I: (downloading|extracting|installing) (.*?)\.\.\.$/.exec(line);
    if (step) say(`${step[1]} ${step[2]}`);
  };
}

const weight = (name) => (RUNTIMES[name] ?? MACHINES[name]).packages.length + (name === 'java' ? 100 : 0);

function describe(name, outDir) {
  return Object.hasOwn(MACHINES, name) ? describeMachine(name, outDir) : describeRuntime(name, outDir);
}

async function describeMachine(name, outDir) {
  const machine = MACHINES[name];
  const { folder, os, release, description } = machine;
  const hash = createHash('sha256').update(JSON.stringify([process.arch, machine]));
  for (const file of await filesOf(here, [`${folder}/`, 'lib/', 'build.mjs'])) {
    hash.update(`\0${file}\0`).update(await readFile(join(here, file)));
  }
  const version = hash.digest('hex').slice(0, 16);
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const properties = { os, release, architecture, description, 'berth.machine': 'true', 'berth.version': version };
  return { name, file: join(outDir, `${folder}-${version}.tar.zst`), properties };
}

async function describeRuntime(name, outDir) {
  const runtime = RUNTIMES[name];
  const hash = createHash('sha256');
  const inputs = [
    SUITE,
    process.arch,
    ...COMMON_PACKAGES,
    ...runtime.packages,
    ...COMMON_SLIM,
    ...runtime.slim,
    ...(await runtime.inputs()),
  ];
  hash.update(JSON.stringify(inputs));
  const own = ['rootfs/', 'lib/', `${name}/`, 'build.mjs'];
  for (const file of await filesOf(here, own)) hash.update(`\0${file}\0`).update(await readFile(join(here, file)));
  const version = hash.digest('hex').slice(0, 16);
  const file = join(outDir, `${name}-${version}.tar.zst`);
  const properties = {
    os: 'debian',
    release: SUITE,
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    description: runtime.description,
    'berth.runtime': name,
    'berth.startup': runtime.startupFile,
    'berth.version': version,
  };
  return { name, file, properties };
}

/** Every file under images/ that begins with one of `own`, in a stable order. */
async function filesOf(root, own) {
  const all = await readdir(root, { recursive: true, withFileTypes: true });
  const files = all.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const relative = files.map((file) => file.slice(root.length + 1));
  return relative.filter((file) => own.some((prefix) => file.startsWith(prefix))).sort();
}

async function build({ image, outDir, base, sources, log }) {
  const { name, file, properties } = image;
  const runtime = RUNTIMES[name];
  const say = stopwatch(name, log);
  const work = await mkdtemp(join(outDir, `.build-${name}-`));
  const root = join(work, 'rootfs');
  try {
    await unpack(base, root);
    await extend({ target: root, suite: SUITE, packages: runtime.packages, sources, onLine: steps(say) });
    say('adding the runtime');
    await runtime.prepare(root);
    await removePaths(root, [...COMMON_SLIM, ...runtime.slim]);
    await overlay(root, join(here, 'rootfs'));
    await overlay(root, join(here, name, 'rootfs'));
    await harden(root);
    await writeFile(join(work, 'metadata.yaml'), metadata(properties));
    say('packing');
    await pack(file, work, ['metadata.yaml', 'rootfs']);
    await removeOlder(outDir, name, file);
    say(`done, ${Math.round((await stat(file)).size / 1e6)} MB`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function buildMachine({ image: { name, file, properties }, outDir, sources, log }) {
  const machine = MACHINES[name];
  const say = stopwatch(name, log);
  const work = await mkdtemp(join(outDir, `.build-${machine.folder}-`));
  const root = join(work, 'rootfs');
  try {
    const { suite, packages } = machine;
    await bootstrapMachine({ target: root, suite, packages, sources, onLine: steps(say) });
    await overlay(root, join(here, machine.folder, 'rootfs'));
    await finishMachine(root, machine);
    await writeFile(join(work, 'metadata.yaml'), metadata(properties));
    say('packing');
    await pack(file, work, ['metadata.yaml', 'rootfs']);
    await removeOlder(outDir, machine.folder, file);
    say(`done, ${Math.round((await stat(file)).size / 1e6)} MB`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What a build that was killed left behind. */
async function removeLeftovers(outDir) {
  for (const name of await readdir(outDir)) {
    const path = join(outDir, name);
    const leftover = name.startsWith('.build-') || name.endsWith('.part');
    // The change time: a root file system that is unpacked sets the modification time to that of its contents.
    if (leftover && (await stat(path)).ctimeMs < Date.now() - LEFTOVER_MS)
      await rm(path, { recursive: true, force: true });
  }
}

async function removeOlder(outDir, name, file) {
  for (const other of await readdir(outDir)) {
    const older = new RegExp(`^${name}-[0-9a-f]{16}\\.tar\\.zst$`).test(other) && join(outDir, other) !== file;
    if (older) await rm(join(outDir, other), { force: true });
  }
}

/** JSON is YAML too. */
function metadata(properties) {
  const content = { architecture: properties.architecture, creation_date: Math.floor(Date.now() / 1000), properties };
  return `${JSON.stringify(content, null, 2)}\n`;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const args = process.argv.slice(2);
  const at = args.indexOf('--out');
  const outDir = at >= 0 ? args.splice(at, 2)[1] : join(here, '..', '.berth', 'images');
  const fresh = args.includes('--fresh');
  const names = args.filter((name) => name !== '--fresh');
  try {
    const images = await buildImages({
      outDir,
      names: names.length > 0 ? names : undefined,
      fresh,
      log: (line) => process.stderr.write(`${line}\n`),
    });
    process.stdout.write(`${JSON.stringify(images, null, 2)}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
