import { createConnection } from 'mysql2/promise';
import { BenchBerth } from './support/berth.mjs';

const OBJECTS = 1_000_000;
const FOLDERS = 1000;
const PAGE = 1000;
const ASKED = 300;
// Until what runs often is compiled.
const WARM_UP = 100;

export const name = `A page of ${PAGE} out of ${OBJECTS} objects, at any depth, against the bare query`;

export async function run(ctx) {
  const berth = await BenchBerth.start(ctx.env, { ROLES: 'api' });
  const connection = await createConnection({ uri: berth.env.DATABASE_URL });
  try {
    const { id } = await berth.call('POST', '/storage/buckets', { name: 'bench' });
    await fill(connection, id);
    const page = (query) => berth.call('GET', `/storage/buckets/${id}/objects?${query}`);
    let times = {};
    for (let turn = -WARM_UP; turn < ASKED; turn++) {
      if (turn <= 0) times = { api: [], sql: [], folders: [] };
      const asked = Math.abs(turn);
      const key = keyAt(Math.floor((asked / ASKED) * OBJECTS));
      const cursor = Buffer.from(JSON.stringify([0, key])).toString('base64url');
      const { objects } = await timed(times.api, () => page(`cursor=${cursor}`));
      const [rows] = await timed(times.sql, () => connection.query(BARE, [id, Buffer.from(key)]));
      if (objects.at(-1)?.key !== rows.at(-1)?.object_key.toString()) throw new Error('the pages differ');
      if (asked % 10 !== 0) continue;
      const { prefixes } = await timed(times.folders, () => page('delimiter=/&limit=100'));
      if (prefixes.length !== 100) throw new Error('the folders are not all there');
    }
    const [api, sql, folders] = [times.api, times.sql, times.folders].map(p99);
    return [
      {
        what: 'page of 1,000 out of 1,000,000, p99',
        unit: 'ms',
        ours: api,
        yardstick: sql,
        ratio: api / sql,
        target: '',
      },
      { what: 'the same against 20 ms', unit: 'ms', ours: api, yardstick: 20, ratio: api / 20, target: '<= 1' },
      {
        what: '100 folders of 1,000 objects each, p99',
        unit: 'ms',
        ours: folders,
        yardstick: null,
        ratio: null,
        target: '',
      },
    ];
  } finally {
    // Its blobs do not exist, so nobody is to remove them.
    await connection.query('DELETE FROM bucket_objects');
    await connection.end();
    await berth.stop();
  }
}

const BARE = `SELECT object_key, size, content_type, sha256, modified_at FROM bucket_objects
               WHERE bucket_id = ? AND object_key > ? ORDER BY object_key LIMIT ${PAGE}`;

const keyAt = (number) =>
  `folder-${String(Math.floor(number / (OBJECTS / FOLDERS))).padStart(4, '0')}/${String(number).padStart(8, '0')}`;

async function fill(connection, id) {
  await connection.query(
    `INSERT INTO bucket_objects (bucket_id, object_key, blob_id, size, content_type, sha256, modified_at)
     SELECT ?, CONCAT('folder-', LPAD(FLOOR((seq - 1) / ?), 4, '0'), '/', LPAD(seq - 1, 8, '0')), MD5(seq), 1000,
            'application/octet-stream', SHA2(seq, 256), NOW(3)
       FROM seq_1_to_${OBJECTS}`,
    [id, OBJECTS / FOLDERS],
  );
}

async function timed(times, work) {
  const began = performance.now();
  const result = await work();
  times.push(performance.now() - began);
  return result;
}

function p99(times) {
  return [...times].sort((one, other) => one - other)[Math.floor(times.length * 0.99)];
}
