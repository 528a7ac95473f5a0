import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { metrics, trace } from '@opentelemetry/api';
import { PermitMetrics } from './permit-metrics.js';
import { PermitSpans } from './permit-spans.js';

const SCOPE = 'redsem';

export interface InstrumentOptions {
  /** Default: the global one, as it is at the call: set it before. */
  readonly meterProvider?: MeterProvider;
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider;
  /**
   * What metrics tell as `redsem.semaphore.name`. A metrics store keeps a time series for each value, and a `KeyedMutex`
   * makes a name for each key: give few values there. Spans keep the name itself. Default: the name.
   */
  readonly groupBy?: (name: string) => string;
}

/**
 * Tells OpenTelemetry what all semaphores of this process do, from now on: metrics and spans are listed in the
 * guide on telemetry. Modelled on the conventions for connection pools
 * (https://opentelemetry.io/docs/specs/semconv/database/database-metrics/); held, waited, overages and reclaims
 * are the counts of Sidekiq Enterprise's concurrent limiter.
 * @returns ends it: nothing more is told, permits held leave the count, open spans end. May be called twice
 */
export function instrument(options: InstrumentOptions = {}): () => void {
  const {
    meterProvider = metrics.getMeterProvider(),
    tracerProvider = trace.getTracerProvider(),
    groupBy = (name) => name,
  } = options;
  const permitMetrics = new PermitMetrics(meterProvider.getMeter(SCOPE), groupBy);
  const permitSpans = new PermitSpans(tracerProvider.getTracer(SCOPE));
  return () => {
    permitMetrics.end();
    permitSpans.end();
  };
}
