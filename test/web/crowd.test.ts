import { expect } from 'chai';
import { spy } from 'sinon';
import type { ManualClock } from '../../src/index.js';
import type { WebHandler } from '../../src/web/index.js';
import { Events, get, viewFixture } from './web-fixture.js';

/** As in the guide: semaphores that may be looked at closely at once. */
const MOST = 30;

async function open(view: WebHandler, query: string): Promise<Events> {
  return new Events(await get(view, `/api/events${query}`));
}

/** How many events of a type come within a time. */
async function countWithin(
  clock: ManualClock,
  duration: number,
  streams: readonly (readonly [Events, string])[],
): Promise<number[]> {
  const counts = streams.map(() => 0);
  for (const [i, [events, type]] of streams.entries()) {
    void (async () => {
      while ((await events.next(type)) !== undefined) counts[i] = (counts[i] ?? 0) + 1;
    })();
  }
  await clock.advance(duration);
  return [...counts];
}

describe('many at the web view', () => {
  it('a request is looked at for seconds, not at all once it was given up, and delays no page', async () => {
    const { clock, backend, view } = viewFixture();
    const inspect = spy(backend, 'inspect');
    const looks = (name: string) =>
      inspect.args.map(([{ key }]) => key.name).filter((each) => each.startsWith(name));
    const { timers } = clock;
    expect((await get(view, '/api/semaphore?name=asked')).status).to.equal(200);
    const before = { signal: AbortSignal.abort() };
    for (const path of ['/api/list', '/api/semaphore?name=early', '/api/events?name=early'])
      await view(new Request(`http://view.example${path}`, before));
    await clock.advance(20_000);
    expect(looks('early')).to.deep.equal([]);
    expect(looks('asked')).to.include('asked');
    expect(clock.timers).to.equal(timers);
    const page = await open(view, '?name=jobs');
    const gone = new AbortController();
    const flood = Array.from({ length: 450 }, (_, i) =>
      view(new Request(`http://view.example/api/semaphore?name=flood${i}`, gone)),
    );
    await clock.advance(0);
    gone.abort();
    const replies = await Promise.all(flood);
    expect(replies.filter(({ status }) => status === 503)).to.have.length(450 - (MOST - 1));
    const [lists] = await countWithin(clock, 10_000, [[page, 'list']]);
    expect(lists).to.be.at.least(9);
    expect(looks('jobs')).to.have.length.at.least(9);
    // The view answered these requests in the first second, before the client gave them up.
    expect(new Set(looks('flood')).size).to.be.at.most(5);
  });

  it('looks in turn at the most semaphores that it may; a further semaphore gets 503', async () => {
    const { clock, view } = viewFixture();
    const list = await open(view, '');
    const pages = await Promise.all(
      Array.from({ length: MOST }, (_, i) => open(view, `?name=page${i}`)),
    );
    for (const path of ['/api/events?name=other', '/api/semaphore?name=other']) {
      const response = await get(view, path);
      expect(response.status).to.equal(503);
      expect(await response.json()).to.deep.equal({ error: 'too many semaphores are looked at' });
    }
    const again = get(view, '/api/semaphore?name=page7');
    const [lists = 0, ...details] = await countWithin(clock, 30_000, [
      [list, 'list'],
      ...pages.map((page) => [page, 'detail'] as const),
    ]);
    expect((await again).status).to.equal(200);
    expect(lists, 'looks at all').to.be.at.least(20);
    expect(Math.min(...details), 'looks at each').to.be.at.least(2);
    await Promise.all([...pages, list].map((each) => each.cancel()));
    const response = get(view, '/api/semaphore?name=other');
    await clock.advance(1000);
    expect((await response).status).to.equal(200);
  });

  it('a long list, with a call for each semaphore, does not hold up the page of a semaphore', async () => {
    const names = Array.from({ length: 100 }, (_, i) => `listed${i}`);
    const { clock, backend, view } = viewFixture({ names });
    Object.assign(backend, { overview: undefined });
    const page = await open(view, '?name=jobs');
    const [details = 0] = await countWithin(clock, 20_000, [[page, 'detail']]);
    expect(details).to.be.at.least(10);
  });
});
