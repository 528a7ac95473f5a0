import { expect } from 'chai';

import { runWithHandle } from '../../src/run-with-handle.js';

/** What `promise` rejects with. */
async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (reason) {
    return reason;
  }
  throw new Error('it did not reject');
}

describe('running a function with a handle', () => {
  const failure = new Error('the release failed');

  class Handle {
    releases = 0;
    /** How often its failure was told by a warning. */
    warnings = 0;
    readonly #release: () => Promise<unknown>;

    constructor(release: () => Promise<unknown> = () => Promise.resolve(true)) {
      this.#release = release;
    }

    release(): Promise<unknown> {
      this.releases += 1;
      return this.#release();
    }

    async [Symbol.asyncDispose](): Promise<void> {
      await this.release().catch(() => (this.warnings += 1));
    }
  }

  const broken = (): Handle => new Handle(() => Promise.reject(failure));

  function throws(thrown: unknown): () => never {
    return () => {
      throw thrown;
    };
  }

  it('gives the function the handle, and its result to the caller once released', async () => {
    const steps: string[] = [];
    const handle = new Handle(() => {
      steps.push('released');
      return Promise.resolve(true);
    });
    const result = await runWithHandle(handle, async (given) => {
      expect(given).to.equal(handle);
      expect(handle.releases).to.equal(0);
      await Promise.resolve();
      steps.push('ran');
      return 'result';
    });
    expect(result).to.equal('result');
    expect(steps).to.deep.equal(['ran', 'released']);
    expect(handle.releases).to.equal(1);
  });

  it('waits for the release, also when the function failed', async () => {
    for (const fails of [false, true]) {
      let end = (): void => {};
      const handle = new Handle(() => new Promise<void>((resolve) => (end = resolve)));
      let settled = false;
      const running = runWithHandle(handle, fails ? throws(new Error('job')) : () => 1);
      const watched = running.then(
        () => (settled = true),
        () => (settled = true),
      );
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      expect([handle.releases, settled]).to.deep.equal([1, false]);
      end();
      await watched;
    }
  });

  it('releases when the function throws or rejects, and passes that on as it is', async () => {
    for (const thrown of [new Error('job'), 'a string', undefined, null, 0, { code: 5 }]) {
      for (const fn of [throws(thrown), () => Promise.resolve().then(throws(thrown))]) {
        const handle = new Handle();
        expect(await reasonOf(runWithHandle(handle, fn))).to.equal(thrown);
        expect(handle.releases).to.equal(1);
      }
    }
  });

  it('changes no result when the release fails, and has it told by a warning', async () => {
    const handle = broken();
    expect(await runWithHandle(handle, () => 'result')).to.equal('result');
    expect(handle.warnings).to.equal(1);
  });

  it('tells a release that failed as the cause of the error of the function', async () => {
    const [error, handle] = [new Error('job'), broken()];
    expect(await reasonOf(runWithHandle(handle, throws(error)))).to.equal(error);
    expect(error.cause).to.equal(failure);
    expect(handle.warnings).to.equal(0);
    // As the cause that a constructor is given: not among what is printed or copied as its own data.
    expect(Object.keys(error)).to.deep.equal([]);
  });

  it('tells it as suppressed where the error has a cause', async () => {
    const cause = new Error('why');
    const error = new Error('job', { cause });
    expect(await reasonOf(runWithHandle(broken(), throws(error)))).to.equal(error);
    expect(error.cause).to.equal(cause);
    expect(error).to.have.property('suppressed', failure);
  });

  it('overwrites nothing that the error has', async () => {
    const own = { suppressed: 'own' };
    const error = Object.assign(new Error('job', { cause: 'why' }), own);
    expect(await reasonOf(runWithHandle(broken(), throws(error)))).to.equal(error);
    expect(error).to.include({ cause: 'why', suppressed: 'own' });
  });

  it('hides no error that cannot be changed, and has the failure told by a warning', async () => {
    const sealed = Object.preventExtensions(new Error('job'));
    const frozen = Object.freeze(new Error('job', { cause: 'why' }));
    const fixed = Object.defineProperty(new Error('job'), 'cause', { value: undefined });
    for (const thrown of [sealed, frozen, fixed, 'a string', undefined, { code: 5 }]) {
      const handle = broken();
      expect(await reasonOf(runWithHandle(handle, throws(thrown)))).to.equal(thrown);
      expect(handle.warnings).to.equal(1);
    }
  });
});
