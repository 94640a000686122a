/** Consumption in percent of what a service has; null when it cannot be told yet. */
export interface Shares {
  ram: number | null;
  cpu: number | null;
}

interface Reading {
  memoryBytes: number;
  cpuNanoseconds: number;
  startedAt: Date | null;
}

interface EarlierReading {
  cpuNanoseconds: number | null;
  cpuReadAt: Date | null;
  programStartedAt: Date | null;
}

/** An older reading says nothing of the present. */
const OLDEST_MS = 120_000;
/** How far below its threshold consumption must fall before it can rise over it again. */
const SLACK_PERCENT = 5;

/** Turns two readings of the processor's counter and one of the memory into shares. */
export function sharesOf(
  { ram, cpu }: { ram: number; cpu: number },
  earlier: EarlierReading,
  now: Reading,
  at: Date,
): Shares {
  return { ram: (now.memoryBytes / (ram * 1024 * 1024)) * 100, cpu: processorShare(cpu, earlier, now, at) };
}

function processorShare(allowed: number, earlier: EarlierReading, now: Reading, at: Date): number | null {
  const { cpuNanoseconds, cpuReadAt, programStartedAt } = earlier;
  if (cpuNanoseconds === null || !cpuReadAt || programStartedAt?.getTime() !== now.startedAt?.getTime()) return null;
  const elapsedMs = at.getTime() - cpuReadAt.getTime();
  const used = now.cpuNanoseconds - Number(cpuNanoseconds);
  if (elapsedMs <= 0 || elapsedMs > OLDEST_MS || used < 0) return null;
  const percentOfOneCore = (used / (elapsedMs * 1e6)) * 100;
  return (percentOfOneCore / allowed) * 100;
}

/**
 * What a reading does to an alert. It is raised at the threshold, and can be raised again only after consumption has been
 * well below it, so that one that wavers around the threshold is told once.
 */
export function verdictOn(threshold: number, raised: boolean, percent: number): 'raise' | 'rearm' | 'stays' {
  if (!raised) return percent >= threshold ? 'raise' : 'stays';
  const slack = Math.min(SLACK_PERCENT, threshold / 2);
  return percent < threshold - slack ? 'rearm' : 'stays';
}
