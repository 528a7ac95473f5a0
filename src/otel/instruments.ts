import type { Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';

/**
 * Bounds of histograms in seconds: the bounds that the conventions name for the duration of a
 * request, and longer bounds for a wait.
 */
const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const USE_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400];

export interface Instruments {
  readonly held: UpDownCounter;
  readonly pending: UpDownCounter;
  readonly waits: Counter;
  readonly refusals: Counter;
  readonly failures: Counter;
  readonly waitTime: Histogram;
  readonly useTime: Histogram;
  readonly overages: Counter;
  readonly reclaims: Counter;
  readonly losses: Counter;
  readonly extensionFailures: Counter;
  readonly drops: Counter;
  readonly mismatches: Counter;
}

export function makeInstruments(meter: Meter): Instruments {
  const count = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { unit, description });
  const level = (name: string, unit: string, description: string): UpDownCounter =>
    meter.createUpDownCounter(name, { unit, description });
  const time = (name: string, buckets: number[], description: string): Histogram =>
    meter.createHistogram(name, {
      unit: 's',
      description,
      advice: { explicitBucketBoundaries: buckets },
    });
  return {
    held: level('redsem.permit.count', '{permit}', 'Permits that this process holds'),
    pending: level('redsem.permit.pending_requests', '{request}', 'Calls that ask or wait now'),
    waits: count('redsem.permit.waits', '{request}', 'Requests that found no permit free'),
    refusals: count('redsem.permit.refusals', '{request}', 'Tries that found no permit free'),
    failures: count('redsem.permit.failed_requests', '{request}', 'Requests that rejected'),
    waitTime: time('redsem.permit.wait_time', WAIT_BUCKETS, 'From the call to the grant'),
    useTime: time('redsem.permit.use_time', USE_BUCKETS, 'From the grant to release or loss'),
    overages: count(
      'redsem.permit.overages',
      '{ticket}',
      'Tickets held past their ttl, or after they were gone',
    ),
    reclaims: count(
      'redsem.permit.reclaims',
      '{permit}',
      'Permits of this process that went back without a release',
    ),
    losses: count('redsem.permit.losses', '{ticket}', 'Handles that were lost'),
    extensionFailures: count(
      'redsem.permit.extension_failures',
      '{extension}',
      'Extensions that failed; they are tried again inside the lease',
    ),
    drops: count('redsem.permit.drops', '{ticket}', 'Handles garbage collected without release'),
    mismatches: count('redsem.limit.mismatches', '{mismatch}', 'Other limits seen under a name'),
  };
}
