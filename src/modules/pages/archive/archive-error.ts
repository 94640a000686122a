import { truncate } from '../../../platform/text/truncate.js';

/** Why an archive is refused. `detail` is read by whoever sent it. */
export class ArchiveError extends Error {
  constructor(
    readonly code: ArchiveFault,
    readonly detail: string,
  ) {
    super(detail);
    this.name = 'ArchiveError';
  }
}

export type ArchiveFault =
  | 'archive_not_zip'
  | 'archive_damaged'
  | 'archive_empty'
  | 'archive_encrypted'
  | 'archive_method_unsupported'
  | 'archive_entry_unsupported'
  | 'archive_path_unsafe'
  | 'archive_path_too_long'
  | 'archive_path_conflict'
  | 'archive_overlap'
  | 'archive_too_many_files'
  | 'archive_file_too_large'
  | 'archive_inflates_too_large'
  | 'archive_ratio';

const SHOWN = 120;

/** A name out of an archive, fit to be shown. */
export function shown(name: string): string {
  const plain = name.replace(/[^\x20-\x7e\u00a0-\u{10ffff}]/gu, '?');
  return plain.length > SHOWN ? `${truncate(plain, SHOWN)}…` : plain;
}
