import { expect } from 'chai';

import type { SemaphoreKey } from '../../src/index.js';
import { KeyedMutex, ManualClock, MemoryBackend } from '../../src/index.js';

const HOUR = 3_600_000;

/** Counts the notes. */
class NotingBackend extends MemoryBackend {
  notes = 0;
  override noteStripes(key: SemaphoreKey, stripes: number): Promise<readonly number[]> {
    this.notes += 1;
    return super.noteStripes(key, stripes);
  }
}

describe('a note of stripes', () => {
  function bench() {
    const clock = new ManualClock();
    const backend = new NotingBackend({ clock });
    const heard: string[] = [];
    const use = async (mutex: KeyedMutex): Promise<void> => {
      await mutex.use('key', () => undefined, 1000);
      await clock.advance(1);
    };
    const make = (stripes: number): KeyedMutex => {
      const mutex = new KeyedMutex(backend, { stripes, extendEvery: 0 });
      mutex.on('warning', ({ message }) => heard.push(message));
      return mutex;
    };
    return { clock, backend, heard, use, make };
  }

  it('is made once an object, and again after twelve hours', async () => {
    const { clock, backend, use, make } = bench();
    const mutex = make(8);
    await mutex.acquire([]);
    expect(backend.notes).to.equal(0);
    await use(mutex);
    await use(mutex);
    expect(backend.notes).to.equal(1);
    await clock.advance(11 * HOUR);
    await use(mutex);
    expect(backend.notes).to.equal(1);
    await clock.advance(HOUR);
    await use(mutex);
    expect(backend.notes).to.equal(2);
  });

  it('counts for a day', async () => {
    const { clock, heard, use, make } = bench();
    await use(make(8));
    await clock.advance(23 * HOUR);
    await use(make(16));
    expect(heard).to.have.lengthOf(1);
    await clock.advance(2 * HOUR);
    await use(make(16));
    expect(heard).to.have.lengthOf(1);
  });

  it('that fails does no harm', async () => {
    const { backend, heard, use, make } = bench();
    const failures = [
      () => Promise.reject(new Error('NOPERM')),
      () => {
        throw new Error('thrown at once');
      },
    ];
    for (const failure of failures) {
      backend.noteStripes = failure;
      await use(make(8));
    }
    expect(heard).to.deep.equal([]);
  });
});
