// An endpoint for Prometheus: GET /metrics at PORT (default 9464, 0 = any). Some jobs run
// meanwhile, so that there is something to see.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { createClient } from 'redis';
import { Semaphore } from 'redsem';
import { instrument } from 'redsem/otel';
import { prometheusText } from './prometheus-text.js';

/** Collects the metrics when Prometheus asks. */
class OnDemand extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

const reader = new OnDemand();
const meterProvider = new MeterProvider({ readers: [reader] });
const stopTelling = instrument({ meterProvider });

const server = createServer((request, response) => {
  void answer(request, response);
}).listen(Number(process.env['PORT'] ?? 9464), '127.0.0.1');
await once(server, 'listening');

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url !== '/metrics') {
    response.writeHead(404).end();
    return;
  }
  const { resourceMetrics } = await reader.collect();
  response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
  response.end(prometheusText(resourceMetrics));
}

const client = await createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost' })
  .on('error', (error: Error) => console.error(error.message))
  .connect();
const jobs = new Semaphore(client, 'example-jobs', { limit: 2 });
const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());

async function runJobs(): Promise<void> {
  while (!stop.signal.aborted) {
    await jobs.use(() => sleep(20), { signal: stop.signal }).catch(() => undefined);
  }
}

const address = server.address();
if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/metrics`);
await Promise.all(Array.from({ length: 5 }, runJobs));
await jobs.close();
client.destroy();
stopTelling();
await meterProvider.shutdown();
server.close();
server.closeAllConnections();
