/** What a machine may be given, both ends included. */
export const BOUNDS = {
  cpu: { min: 1, max: 8 },
  ramMb: { min: 256, max: 16_384 },
  diskGb: { min: 2, max: 200 },
} as const;

export const MAX_PORTS = 20;
