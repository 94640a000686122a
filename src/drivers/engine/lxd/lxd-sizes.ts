const UNITS: Record<string, number> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Reads a size as the engine writes it, in MiB; 0 where there is none. */
export function mebibytes(text: string | undefined): number {
  const [, digits, unit] = /^(\d+)\s*([a-z]*)$/i.exec(text?.trim() ?? '') ?? [];
  const factor = UNITS[unit ?? ''];
  return digits === undefined || factor === undefined ? 0 : Math.round((Number(digits) * factor) / 2 ** 20);
}
