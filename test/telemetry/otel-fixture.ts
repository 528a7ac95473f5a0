import type { Attributes } from '@opentelemetry/api';
import type { DataPoint, Histogram } from '@opentelemetry/sdk-metrics';
import { AggregationTemporality, InMemoryMetricExporter } from '@opentelemetry/sdk-metrics';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import { instrument, type InstrumentOptions } from '../../src/otel/index.js';
import { afterTest } from '../support/after-test.js';

/** An OpenTelemetry SDK of one test, and the metrics and spans of semaphores of one name. */
export class OtelFixture {
  readonly stop: () => void;
  readonly providers;
  readonly #name: string;
  readonly #reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
  });
  readonly #exporter = new InMemorySpanExporter();

  constructor(name: string, options: InstrumentOptions = {}) {
    this.#name = name;
    const spanProcessors = [new SimpleSpanProcessor(this.#exporter)];
    this.providers = {
      meterProvider: new MeterProvider({ readers: [this.#reader] }),
      tracerProvider: new BasicTracerProvider({ spanProcessors }),
    };
    this.stop = instrument({ ...this.providers, ...options });
    afterTest(() => this.close());
  }

  async close(): Promise<void> {
    this.stop();
    for (const provider of Object.values(this.providers)) await provider.shutdown();
  }

  /**
   * Counters and levels by their names without `redsem.`, with `[value]` of an attribute beside the
   * semaphore's name. `troubles`: the errors of this collection.
   */
  async counts(...troubles: string[]): Promise<Record<string, number>> {
    const points = (await this.metrics(troubles)).flatMap(
      ({ descriptor: { name }, dataPoints }) => {
        const ours = (dataPoints as DataPoint<unknown>[]).filter((point) => this.#isOurs(point));
        return ours.map(({ attributes, value }) => {
          const others = Object.keys(attributes).filter((key) => key !== 'redsem.semaphore.name');
          const label = others.map((key) => `[${String(attributes[key])}]`).join('');
          return [name.replace(/^redsem\.(permit\.)?/, '') + label, value] as const;
        });
      },
    );
    const numbers = points.filter(([, value]) => typeof value === 'number' && value !== 0);
    return Object.fromEntries(numbers) as Record<string, number>;
  }

  /** The number of durations and their sum in seconds. */
  async times(metric: 'wait_time' | 'use_time'): Promise<{ count: number; sum: number }> {
    const all = await this.metrics();
    const found = all.find(({ descriptor }) => descriptor.name === `redsem.permit.${metric}`);
    const points = (found?.dataPoints ?? []) as DataPoint<Histogram>[];
    const { count = 0, sum = 0 } = points.find((point) => this.#isOurs(point))?.value ?? {};
    return { count, sum };
  }

  async resourceMetrics(troubles: string[] = []) {
    const { resourceMetrics, errors } = await this.#reader.collect();
    expect(errors.map(String)).to.deep.equal(troubles);
    return resourceMetrics;
  }

  async metrics(troubles: string[] = []) {
    const { scopeMetrics } = await this.resourceMetrics(troubles);
    return scopeMetrics.flatMap(({ metrics }) => metrics);
  }

  /** Spans that have ended, of this name. */
  spans(spanName?: 'redsem acquire' | 'redsem hold'): ReadableSpan[] {
    return this.#exporter.getFinishedSpans().filter((span) => {
      return this.#isOurs(span) && (spanName === undefined || span.name === spanName);
    });
  }

  #isOurs({ attributes }: { attributes: Attributes }): boolean {
    return attributes['redsem.semaphore.name'] === this.#name;
  }
}
