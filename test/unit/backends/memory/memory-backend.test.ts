import { expect } from 'chai';

import { systemClock } from '../../../../src/time/clock.js';
import { ManualClock } from '../../../../src/time/manual-clock.js';
import { MemoryBackend } from '../../../../src/backends/memory/memory-backend.js';
import { eventually } from '../../../support/eventually.js';
import { only } from '../../../support/only.js';

// What calls do is in test/scripts, for both backends.
describe('memory backend', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
  });

  const requests = [{ id: 'a.1', permits: 1, wait: false, arrival: undefined }];
  const keyOf = (name: string, prefix = 'p') => ({ key: { prefix, name }, limit: 1 });

  async function take(name: string, ttl: number, on = backend, prefix = 'p'): Promise<boolean> {
    const call = { ...keyOf(name, prefix), client: 'a', ttl, label: '', notAfter: undefined };
    return (await only(on.acquire([{ ...call, requests }]))).verdicts[0]?.kind === 'granted';
  }

  it('takes no notice of steps of the wall clock', async () => {
    await take('jobs', 1000);
    clock.stepWall(86_400_000);
    expect((await backend.inspect(keyOf('jobs'))).held).to.equal(1);
    clock.stepWall(-2 * 86_400_000);
    await clock.advance(1000);
    expect((await backend.inspect(keyOf('jobs'))).held).to.equal(0);
  });

  it('keeps apart backends, and prefixes that end as a name begins', async () => {
    expect(await take(':jobs', 1000, backend, 'p')).to.equal(true);
    expect(await take('jobs', 1000, backend, 'p:')).to.equal(true);
    expect(await take(':jobs', 1000, new MemoryBackend({ clock }))).to.equal(true);
  });

  it('hands out copies: nobody can change what it holds', async () => {
    await take('jobs', 1000);
    (await backend.inspect(keyOf('jobs'))).holders[0]?.slots.push(98);
    expect((await backend.inspect(keyOf('jobs'))).holders[0]?.slots).to.deep.equal([0]);
  });

  it('says that it is healthy, but not to a listener that was closed at once', async () => {
    const health: string[] = [];
    for (const client of ['a', 'b']) {
      const onHealth = (healthy: boolean): void => void health.push(`${client} ${healthy}`);
      const listening = backend.listen(client, 'p', { onGrants: () => {}, onHealth });
      if (client === 'b') await listening.close();
    }
    await clock.advance(0);
    expect(health).to.deep.equal(['a true']);
  });

  it('forgets names whose tickets were left to expire, all but 1000, as new ones are used', async () => {
    for (let i = 0; i < 3000; i += 1) await take(`left ${i}`, 1000);
    await take('live', 60_000);
    expect(backend.size).to.equal(3001);
    await clock.advance(1000);
    for (let i = 0; i < 3000; i += 1) await backend.inspect(keyOf(`new ${i}`));
    expect(backend.size).to.equal(1000);
    expect(await backend.inspect(keyOf('live'))).to.include({ held: 1 });
  });

  it('forgets names without tickets, all but 1000', async () => {
    const names = Array.from({ length: 3000 }, (_, i) => `${i}`);
    const calls = names.map((name) => ({ ...keyOf(name), client: 'a', ids: ['a.1'] }));
    for (const name of names) await take(name, 60_000);
    await backend.release(calls);
    expect(backend.size).to.equal(1000);
  });

  it('gives the event loop its turn, however fast each reply makes its caller call again', async () => {
    let calls = 0;
    let turned: number | undefined;
    setImmediate(() => (turned = calls));
    for (; calls < 2000; calls += 1) await take(`${calls}`, 1000);
    expect(turned).to.be.within(1, 1000);
  });

  it("uses the process's clock by default", async () => {
    const real = new MemoryBackend();
    expect(real.clock).to.equal(systemClock);
    await take('jobs', 20, real);
    await eventually(async () => (await real.inspect(keyOf('jobs'))).held === 0);
  });
});
