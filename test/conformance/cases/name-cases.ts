import { hostname } from 'node:os';
import { expect } from 'chai';

import { listSemaphores, type Semaphore } from '../../../src/index.js';
import { caseGroup } from '../scope.js';

/** Each is another name, however alike they look. */
const NAMES: readonly string[] = [
  ['a', 'A', ' a', 'a ', 'a:tickets', '\ufeffa', '\u00e9', 'e\u0301', '\\', '\\'.repeat(500)],
  ['{', '}', '{}', '{a}', '{a', 'a}', '{{a}}', '%7B', '%7b', '%7D', '%', '%25', '%257B'],
  ['\0', 'a\0', '\0a', '\n', '\r\n', 'a\r\nDEL a\r\n', '\u{1F600}', '\u{1F600}\u{1F600}'],
  ['*', '?', '[a]', '"', "'", '|', ';', '__proto__', 'constructor', '\u{1F600}'.repeat(128)],
  ['x'.repeat(511), 'x'.repeat(512), `${'x'.repeat(511)}y`, `${'x'.repeat(511)}X`],
].flat();
const STRANGE = 'worker 7; über|all 😀 100%';

/** The names of the semaphores whose permit was free. */
async function takenOf(semaphores: readonly Semaphore[]): Promise<string[]> {
  const handles = await Promise.all(semaphores.map((semaphore) => semaphore.tryAcquire()));
  return handles.flatMap((handle) => handle?.name ?? []);
}

export const nameCases = caseGroup('names, and inspect', [], (it) => {
  it('names of any kind work, stay as they are, and never meet', async (scope) => {
    // A sign of the scripts begins it.
    const prefix = `*${scope.freshName()}`;
    const semaphores = NAMES.map((name) => scope.semaphore({ prefix }, name));
    const others = NAMES.map((name) => scope.elsewhere({ prefix }, name));
    expect(semaphores.map(({ name }) => name)).to.deep.equal(NAMES);
    expect(await takenOf(semaphores)).to.deep.equal(NAMES);
    expect(await takenOf(others)).to.deep.equal([]);
    const states = await Promise.all(others.map((other) => other.inspect()));
    const shown = states.map(({ name, held }) => [name, held]);
    expect(shown).to.deep.equal(NAMES.map((name) => [name, 1]));
    await semaphores[7]?.close();
    expect(await takenOf(others)).to.deep.equal([NAMES[7]]);
  });

  it('inspect shows holders and their permits, without expired ones', async (scope) => {
    const options = { limit: 7, ttl: 20_000 };
    const semaphore = scope.semaphore({ ...options, label: STRANGE });
    const empty = { held: 0, waiting: 0, holders: [], waiters: [] };
    const expected = { name: scope.name, limit: 7, limitFrom: 'options', ...empty };
    expect(await semaphore.inspect()).to.deep.equal(expected);
    const gone = await semaphore.acquire();
    const three = await semaphore.acquire({ permits: 3 });
    const unlabelled = await scope.semaphore({ ...options, label: '' }).acquire();
    const byDefault = await scope.semaphore(options).acquire();
    await scope.ageTicket(gone, 0);
    const { held, holders } = await scope.elsewhere().inspect();
    await three.extend();
    expect(held).to.equal(5);
    const labels = [STRANGE, '', `${hostname()}:${process.pid}`];
    for (const [i, handle] of [three, unlabelled, byDefault].entries()) {
      const { id, slots, fencingToken } = handle;
      const holder = holders.find((each) => each.id === id);
      expect(holder).to.deep.include({ slots: [...slots], fencingToken, label: labels[i] });
      expect(holder?.expiresIn).to.be.within(15_000, 20_000);
      expect(holder?.heldFor).to.be.within(0, 5000);
    }
    expect(holders).to.have.lengthOf(3);
  });
});

export const listingCases = caseGroup('names, and inspect', ['listing'], (it) => {
  it('names are listed, each once, and no name of another prefix', async (scope) => {
    const names = NAMES.filter((name) => Buffer.byteLength(name) < 512);
    for (const prefix of ['l*?[i]\\s', 'l*?[i]\\', 'lists']) {
      await takenOf(names.map((name) => scope.semaphore({ prefix }, name + prefix.length)));
    }
    const list = (prefix: string) => listSemaphores(scope.place.target, { prefix });
    const listed: string[] = [];
    for await (const name of list('l*?[i]\\s')) listed.push(name);
    expect(listed.toSorted()).to.deep.equal(names.map((name) => `${name}8`).toSorted());
    expect(() => list('{}')).to.throw(TypeError, /^prefix/);
  });
});
