import { readFileSync } from 'node:fs';
import { trace } from '@opentelemetry/api';
import { expect } from 'chai';

import { MemoryBackend, Semaphore } from '../../src/index.js';
import { instrument } from '../../src/otel/index.js';
import { OtelBench } from './otel-bench.js';

describe('OpenTelemetry, instrumented twice', () => {
  const name = 'twice';
  let otel: OtelBench;
  let semaphore: Semaphore;

  beforeEach(() => {
    otel = new OtelBench(name);
    semaphore = new Semaphore(new MemoryBackend(), name, { limit: 2 });
  });

  afterEach(async () => {
    trace.disable();
    await semaphore.close();
    await otel.close();
  });

  it('counts once, and ends with the last stop()', async () => {
    const { meterProvider, tracerProvider } = otel;
    const stop = instrument({ meterProvider, tracerProvider, groupBy: () => 'other' });
    const handle = await semaphore.acquire();
    expect(await otel.value('redsem.permit.count')).to.equal(1);
    expect(otel.spans('redsem acquire')).to.have.length(1);
    stop();
    stop();
    expect(await otel.value('redsem.permit.count')).to.equal(1);
    await handle.release();
    expect(otel.spans('redsem hold')).to.have.length(1);
    otel.stop();
    await semaphore.use(() => undefined);
    expect((await otel.times('redsem.permit.wait_time')).count).to.equal(1);
    expect(otel.spans('redsem acquire')).to.have.length(1);
  });

  it('counts again after all have ended it', async () => {
    otel.stop();
    const { meterProvider, tracerProvider } = otel;
    const stop = instrument({ meterProvider, tracerProvider });
    const handle = await semaphore.acquire();
    expect(await otel.value('redsem.permit.count')).to.equal(1);
    await handle.release();
    stop();
  });

  it('knows the global tracer provider again, also where that was set later', async () => {
    otel.stop();
    const early = instrument();
    trace.setGlobalTracerProvider(otel.tracerProvider);
    const stops = [early, instrument(), instrument({ tracerProvider: otel.tracerProvider })];
    await semaphore.use(() => undefined);
    expect(otel.spans('redsem acquire')).to.have.length(1);
    for (const stop of stops) stop();
  });

  it('counts on each of several providers', async () => {
    const other = new OtelBench(name);
    await semaphore.use(() => undefined);
    for (const bench of [otel, other]) {
      expect((await bench.times('redsem.permit.wait_time')).count).to.equal(1);
      expect(bench.spans('redsem acquire')).to.have.length(1);
    }
    await other.close();
  });

  it('has the version of the package', async () => {
    await semaphore.use(() => undefined);
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(manifest) as { version: string };
    expect([...(await otel.scopes())]).to.deep.equal([`redsem ${version}`]);
  });
});
