import type { Meter, MeterProvider, TracerProvider } from '@opentelemetry/api';
import { metrics, ProxyTracerProvider, trace } from '@opentelemetry/api';
import { PermitMetrics } from './permit-metrics.js';
import { PermitSpans } from './permit-spans.js';
import { SharedParts } from './shared-parts.js';
import { gaugeState, type Inspected } from './state-gauges.js';
import { checkOptions } from '../arguments/known-options.js';
import { VERSION } from './version.js';

const SCOPE = 'redsem';

// The parts that run on each provider, however many callers share them.
const permitMetrics = new SharedParts<MeterProvider, PermitMetrics>((one, other) => one === other);
const permitSpans = new SharedParts<TracerProvider, PermitSpans>(
  (one, other) => one === other || behind(one) === behind(other),
);

/** The options of `instrument`. */
export interface InstrumentOptions {
  /** Default: the global provider at the moment of the call, so set it before. */
  readonly meterProvider?: MeterProvider | undefined;
  /** Default: the global provider. */
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Gets a semaphore's name and gives the attribute `redsem.semaphore.name` of its metrics. A
   * metrics store keeps a time series for each value, and a `KeyedMutex` makes a name for each key:
   * give few values there. Spans have the name itself. Default: the name.
   */
  readonly groupBy?: ((name: string) => string) | undefined;
  /**
   * Semaphores whose budgets and groups are reported as gauges, over all processes. Each collection
   * calls `inspect` once for each of these. Default: none.
   */
  readonly semaphores?: readonly Inspected[] | undefined;
}

/**
 * Reports to OpenTelemetry, from now on, what all semaphores of this process do. The page on
 * telemetry lists the metrics and spans. They follow the conventions for connection pools
 * (https://opentelemetry.io/docs/specs/semconv/database/database-metrics/); held, waited, overages
 * and reclaims are the counts of Sidekiq Enterprise's concurrent limiter. A second call on the same
 * provider counts nothing twice: both calls share the parts on it, with the `groupBy` of the first,
 * until both have ended.
 * @returns a function that ends the reports: permits held leave the count, open spans end. It may
 *   be called twice
 */
export function instrument(options: InstrumentOptions = {}): () => void {
  checkOptions(options, 'meterProvider tracerProvider groupBy semaphores');
  const {
    meterProvider = metrics.getMeterProvider(),
    tracerProvider = trace.getTracerProvider(),
    groupBy = (name) => name,
    semaphores = [],
  } = options;
  const meter = (): Meter => meterProvider.getMeter(SCOPE, VERSION);
  const endMetrics = permitMetrics.share(meterProvider, () => new PermitMetrics(meter(), groupBy));
  const endSpans = permitSpans.share(
    tracerProvider,
    () => new PermitSpans(tracerProvider.getTracer(SCOPE, VERSION)),
  );
  const endGauges = semaphores.length > 0 ? gaugeState(meter(), semaphores, groupBy) : undefined;
  return () => {
    endGauges?.();
    endMetrics();
    endSpans();
  };
}

/** The global provider forwards to the provider that was, or will be, registered. */
function behind(provider: TracerProvider): TracerProvider {
  return provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
}
