/** What a database is called on its host: letters and digits only, as `_` means any character in a grant. */
export interface NamesOnHost {
  schema: string;
  program: string;
  platform: string;
}

export function namesOf(databaseId: string): NamesOnHost {
  const rest = databaseId.replace(/^db_/, '');
  return { schema: `d${rest}`, program: `u${rest}`, platform: `q${rest}` };
}

/** The database a schema stands for, null when it is none of ours. */
export function databaseIdOf(schema: string): string | null {
  return /^d[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(schema) ? `db_${schema.slice(1)}` : null;
}
