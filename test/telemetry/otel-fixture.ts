import type { Attributes } from '@opentelemetry/api';
import type {
  CollectionResult,
  DataPoint,
  Histogram,
  ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import { instrument, type InstrumentOptions } from '../../src/otel/index.js';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}

  protected override async onShutdown(): Promise<void> {}
}

/** An OpenTelemetry SDK of a test's own, and what semaphores of one name gave it. */
export class OtelFixture {
  readonly stop: () => void;
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;
  readonly #name: string;
  readonly #reader = new Reader();
  readonly #exporter = new InMemorySpanExporter();

  constructor(name: string, options: InstrumentOptions = {}) {
    this.#name = name;
    this.meterProvider = new MeterProvider({ readers: [this.#reader] });
    const spanProcessors = [new SimpleSpanProcessor(this.#exporter)];
    this.tracerProvider = new BasicTracerProvider({ spanProcessors });
    this.stop = instrument({ ...this.providers, ...options });
  }

  get providers() {
    return { meterProvider: this.meterProvider, tracerProvider: this.tracerProvider };
  }

  async close(): Promise<void> {
    this.stop();
    await this.meterProvider.shutdown();
    await this.tracerProvider.shutdown();
  }

  /**
   * Counters and levels by their names without `redsem.`, with `[value]` of an attribute beside the
   * semaphore's name.
   */
  async counts(): Promise<Record<string, number>> {
    const points = (await this.metrics()).flatMap(({ descriptor: { name }, dataPoints }) => {
      const ours = (dataPoints as DataPoint<unknown>[]).filter((point) => this.#isOurs(point));
      return ours.map(({ attributes, value }) => {
        const others = Object.keys(attributes).filter((key) => key !== 'redsem.semaphore.name');
        const label = others.map((key) => `[${String(attributes[key])}]`).join('');
        return [name.replace(/^redsem\.(permit\.)?/, '') + label, value] as const;
      });
    });
    const numbers = points.filter(([, value]) => typeof value === 'number' && value !== 0);
    return Object.fromEntries(numbers) as Record<string, number>;
  }

  /** How often a duration was given, and all of them together in seconds. */
  async times(metric: 'wait_time' | 'use_time'): Promise<{ count: number; sum: number }> {
    const all = await this.metrics();
    const found = all.find(({ descriptor }) => descriptor.name === `redsem.permit.${metric}`);
    const points = (found?.dataPoints ?? []) as DataPoint<Histogram>[];
    const { count = 0, sum = 0 } = points.find((point) => this.#isOurs(point))?.value ?? {};
    return { count, sum };
  }

  collect(): Promise<CollectionResult> {
    return this.#reader.collect();
  }

  async resourceMetrics(): Promise<ResourceMetrics> {
    const { resourceMetrics, errors } = await this.collect();
    expect(errors).to.deep.equal([]);
    return resourceMetrics;
  }

  async metrics() {
    const { scopeMetrics } = await this.resourceMetrics();
    return scopeMetrics.flatMap(({ scope, metrics }) =>
      metrics.map((metric) => ({ ...metric, scope })),
    );
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
