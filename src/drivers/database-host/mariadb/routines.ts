import type { RowDataPacket } from 'mysql2';
import type { Connection } from 'mysql2/promise';
import { DatabaseHostError, type HostAddress } from '../database-host.js';
import { connected, hostError, rowsOf } from './connect.js';
import { anyName } from './names.js';

const NO_SUCH_ROUTINE = 1305;
/** As the server's own tool begins: a client runs none of its own commands after it. */
const HEAD = `/*M!999999\\- enable the sandbox mode */ 
--
-- Routines
--

SET @ROUTINES_SQL_MODE=@@SQL_MODE, @ROUTINES_CLIENT=@@CHARACTER_SET_CLIENT;
SET @ROUTINES_RESULTS=@@CHARACTER_SET_RESULTS, @ROUTINES_COLLATION=@@COLLATION_CONNECTION;
`;
const END = `
SET SQL_MODE=@ROUTINES_SQL_MODE, CHARACTER_SET_CLIENT=@ROUTINES_CLIENT;
SET CHARACTER_SET_RESULTS=@ROUTINES_RESULTS, COLLATION_CONNECTION=@ROUTINES_COLLATION;

`;

/**
 * The routines of a schema as statements that make them. To whoever did not make a routine its code is shown only if he may
 * read everybody's, so this is the administrator's to do; code is only shown by it and none is run.
 */
export async function* routinesOf(host: HostAddress, schema: string): AsyncGenerator<Buffer | string> {
  let connection: Connection | undefined;
  try {
    connection = await connected(host, host);
    const listed = await rowsOf(connection, 'SELECT type, name FROM mysql.proc WHERE db = ? ORDER BY type, name', [
      schema,
    ]);
    if (listed.length > 0) yield HEAD;
    // The code stands in the character set it was given in.
    await connection.query('SET SESSION character_set_results = binary');
    for (const row of listed) {
      const [type, name] = [String(row['type']), anyName(String(row['name']))];
      const shown = await connection
        .query<(RowDataPacket & (Buffer | null)[])[]>({
          sql: `SHOW CREATE ${type} ${anyName(schema)}.${name}`,
          rowsAsArray: true,
          typeCast: false,
        })
        .then(([rows]) => rows[0]!)
        .catch(goneMeanwhile);
      if (shown === null) continue;
      const [, mode, code, client, collation] = shown;
      if (!code) throw new DatabaseHostError('failed', 'the code of a routine is not shown');
      yield `
SET NAMES utf8mb4;
SET SQL_MODE='${String(mode)}';
DROP ${type} IF EXISTS ${name};
SET CHARACTER_SET_CLIENT=${String(client)}, CHARACTER_SET_RESULTS=${String(client)}, COLLATION_CONNECTION=${String(collation)};
DELIMITER ;;
`;
      yield code;
      yield '\n;;\nDELIMITER ;\n';
    }
    if (listed.length > 0) yield END;
  } catch (error) {
    throw hostError(error);
  } finally {
    connection?.destroy();
  }
}

function goneMeanwhile(error: unknown): null {
  if ((error as { errno?: number }).errno === NO_SUCH_ROUTINE) return null;
  throw error;
}
