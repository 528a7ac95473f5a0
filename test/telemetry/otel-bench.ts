import type { Attributes } from '@opentelemetry/api';
import type { DataPoint, Histogram } from '@opentelemetry/sdk-metrics';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import type { InstrumentOptions } from '../../src/otel/index.js';
import { instrument } from '../../src/otel/index.js';

class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** An OpenTelemetry SDK of a test's own, and what semaphores of one name told it. */
export class OtelBench {
  readonly stop: () => void;
  readonly tracerProvider: BasicTracerProvider;
  readonly #name: string;
  readonly #reader = new Reader();
  readonly #exporter = new InMemorySpanExporter();
  readonly meterProvider: MeterProvider = new MeterProvider({ readers: [this.#reader] });

  constructor(name: string, options: InstrumentOptions = {}) {
    this.#name = name;
    const spanProcessors = [new SimpleSpanProcessor(this.#exporter)];
    this.tracerProvider = new BasicTracerProvider({ spanProcessors });
    const { meterProvider, tracerProvider } = this;
    this.stop = instrument({ meterProvider, tracerProvider, ...options });
  }

  async close(): Promise<void> {
    this.stop();
    await this.meterProvider.shutdown();
    await this.tracerProvider.shutdown();
  }

  /** A counter's or level's value, 0 where it was never told. `attributes` beside the semaphore's name. */
  async value(metric: string, attributes: Attributes = {}): Promise<number> {
    return (await this.#point<number>(metric, attributes)) ?? 0;
  }

  /** How often a duration was told, and all of them together in seconds. */
  async times(metric: string): Promise<{ count: number; sum: number }> {
    const { count = 0, sum = 0 } = (await this.#point<Histogram>(metric, {})) ?? {};
    return { count, sum };
  }

  /** Name, unit and description of everything that was told. */
  async described(): Promise<{ name: string; unit: string; description: string }[]> {
    const { resourceMetrics } = await this.#reader.collect();
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return metrics.map(({ descriptor: { name, unit, description } }) => {
      return { name, unit, description };
    });
  }

  /** Name and version of every scope of metrics or spans. */
  async scopes(): Promise<Set<string>> {
    const { resourceMetrics } = await this.#reader.collect();
    const ofMetrics = resourceMetrics.scopeMetrics.map(({ scope }) => scope);
    const ofSpans = this.#exporter.getFinishedSpans().map((span) => span.instrumentationScope);
    return new Set([...ofMetrics, ...ofSpans].map(({ name, version }) => `${name} ${version}`));
  }

  /** Spans that have ended, of this name. */
  spans(spanName?: string): ReadableSpan[] {
    return this.#exporter.getFinishedSpans().filter(({ name, attributes }) => {
      const ours = attributes['redsem.semaphore.name'] === this.#name;
      return ours && (spanName === undefined || name === spanName);
    });
  }

  /** The only one. */
  span(spanName: string): ReadableSpan {
    const spans = this.spans(spanName);
    expect(spans, spanName).to.have.length(1);
    return spans[0]!;
  }

  async #point<Value>(metric: string, attributes: Attributes): Promise<Value | undefined> {
    const { resourceMetrics, errors } = await this.#reader.collect();
    expect(errors).to.deep.equal([]);
    const wanted = { 'redsem.semaphore.name': this.#name, ...attributes };
    const points = resourceMetrics.scopeMetrics
      .flatMap((scope) => scope.metrics)
      .filter(({ descriptor }) => descriptor.name === metric)
      .flatMap(({ dataPoints }) => dataPoints as DataPoint<unknown>[]);
    const found = points.find((point) => {
      return (
        Object.keys(point.attributes).length === Object.keys(wanted).length &&
        Object.entries(wanted).every(([key, value]) => point.attributes[key] === value)
      );
    });
    return found?.value as Value | undefined;
  }
}
