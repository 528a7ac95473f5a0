import type { Attributes } from '@opentelemetry/api';
import type { MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { DataPointType } from '@opentelemetry/sdk-metrics';

/**
 * Metrics in the text format of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/), named by
 * https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/. A packaged
 * exporter is `@opentelemetry/exporter-prometheus`.
 */
export function prometheusText({ scopeMetrics }: ResourceMetrics): string {
  const metrics = scopeMetrics.flatMap((scope) => scope.metrics);
  return `${metrics.flatMap(metricLines).join('\n')}\n`;
}

function metricLines(metric: MetricData): string[] {
  const { descriptor } = metric;
  const counter = metric.dataPointType === DataPointType.SUM && metric.isMonotonic;
  const unit = descriptor.unit === 's' ? '_seconds' : '';
  const name = `${descriptor.name.replaceAll('.', '_')}${unit}${counter ? '_total' : ''}`;
  const histogram = metric.dataPointType === DataPointType.HISTOGRAM;
  const type = histogram ? 'histogram' : counter ? 'counter' : 'gauge';
  const head = [`# HELP ${name} ${descriptor.description}`, `# TYPE ${name} ${type}`];
  return [...head, ...pointLines(name, metric)];
}

function pointLines(name: string, metric: MetricData): string[] {
  if (metric.dataPointType === DataPointType.HISTOGRAM) {
    return metric.dataPoints.flatMap(({ attributes, value: { buckets, count, sum = 0 } }) => {
      let below = 0;
      const lines = buckets.counts.map((inBucket, i) => {
        below += inBucket;
        const le = String(buckets.boundaries[i] ?? '+Inf');
        return `${name}_bucket${labels({ ...attributes, le })} ${below}`;
      });
      const all = labels(attributes);
      return [...lines, `${name}_sum${all} ${sum}`, `${name}_count${all} ${count}`];
    });
  }
  if (metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) return [];
  return metric.dataPoints.map(({ attributes, value }) => `${name}${labels(attributes)} ${value}`);
}

function labels(attributes: Attributes): string {
  const pairs = Object.entries(attributes).map(([key, value]) => {
    const escaped = String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"');
    return `${key.replaceAll('.', '_')}="${escaped.replaceAll('\n', '\\n')}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
