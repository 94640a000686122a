import {
  Counter,
  Gauge,
  Histogram,
  Registry,
  collectDefaultMetrics,
  type CounterConfiguration,
  type GaugeConfiguration,
  type HistogramConfiguration,
} from 'prom-client';

type Rest<T> = Omit<T, 'name' | 'help' | 'labelNames' | 'registers'>;

/**
 * The numbers of this process. A metric is made once and shared by whoever asks for its name again, so that several
 * applications in one process add to the same series.
 */
export class Metrics {
  readonly registry = new Registry();

  counter<L extends string>(
    name: string,
    help: string,
    labels: L[] = [],
    rest: Rest<CounterConfiguration<L>> = {},
  ): Counter<L> {
    return this.once(name, () => new Counter({ ...rest, name, help, labelNames: labels, registers: [this.registry] }));
  }

  gauge<L extends string>(
    name: string,
    help: string,
    labels: L[] = [],
    rest: Rest<GaugeConfiguration<L>> = {},
  ): Gauge<L> {
    return this.once(name, () => new Gauge({ ...rest, name, help, labelNames: labels, registers: [this.registry] }));
  }

  histogram<L extends string>(
    name: string,
    help: string,
    labels: L[] = [],
    rest: Rest<HistogramConfiguration<L>> = {},
  ): Histogram<L> {
    return this.once(
      name,
      () => new Histogram({ ...rest, name, help, labelNames: labels, registers: [this.registry] }),
    );
  }

  /** CPU, memory, event-loop lag, garbage collection, file descriptors. */
  collectProcess(): void {
    if (this.registry.getSingleMetric('process_cpu_seconds_total')) return;
    collectDefaultMetrics({ register: this.registry });
  }

  private once<M>(name: string, make: () => M): M {
    return (this.registry.getSingleMetric(name) as M | undefined) ?? make();
  }
}

/** There is one set of numbers per process, whatever roles it plays. */
export const metrics = new Metrics();
