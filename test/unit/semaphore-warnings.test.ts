import { expect } from 'chai';

import type { Backend } from '../../src/backend.js';
import { Semaphore } from '../../src/semaphore.js';
import { StubBackend } from './stub-backend.js';

describe('warnings of a semaphore', () => {
  function bench(findHazard?: () => Promise<string | undefined>) {
    const backend: StubBackend & Backend = new StubBackend();
    let looks = 0;
    if (findHazard !== undefined) {
      Object.assign(backend, {
        findHazard: () => {
          looks += 1;
          return findHazard();
        },
      });
    }
    const semaphore = new Semaphore(backend, 'jobs', { limit: 1 });
    const warnings: unknown[] = [];
    return { backend, semaphore, warnings, looks: () => looks };
  }

  it('tell of a hazard once somebody listens, and ask the backend once', async () => {
    const { backend, semaphore, warnings, looks } = bench(() => Promise.resolve('it may evict'));
    await backend.clock.advance(0);
    expect(looks()).to.equal(0);
    semaphore.on('warning', (warning) => warnings.push(warning));
    semaphore.on('warning', () => {});
    await backend.clock.advance(0);
    expect(looks()).to.equal(1);
    expect(warnings).to.deep.equal([{ code: 'EVICTION', message: 'it may evict' }]);
  });

  it('are none where there is no hazard, or the backend knows of none', async () => {
    for (const find of [() => Promise.resolve(undefined), undefined]) {
      const { backend, semaphore, warnings } = bench(find);
      semaphore.on('warning', (warning) => warnings.push(warning));
      await backend.clock.advance(0);
      expect(warnings).to.deep.equal([]);
    }
  });

  it('cause no unhandled rejection when looking for a hazard fails', async () => {
    const { backend, semaphore, warnings } = bench(() => Promise.reject(new Error('NOPERM')));
    semaphore.on('warning', (warning) => warnings.push(warning));
    await backend.clock.advance(0);
    expect(warnings).to.deep.equal([]);
  });
});
