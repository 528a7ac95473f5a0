import { expect } from 'chai';
import * as fc from 'fast-check';

import { MemoryBackend, Semaphore } from '../../src/index.js';
import { itThroughBothClients } from '../support/client-bench.js';
import { describeWithServer } from '../support/require-server.js';
import { check } from './reproducible.js';

const LONGEST = 512;

/** Any string that has bytes of its own, braces and percent signs more often than chance would have it. */
const units = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  fc.constantFrom('{', '}', '%', '%7B', '%7D', '%25', '\0', ':', '\r\n', '\u{1F600}', 'a'),
);
const names = fc
  .array(units, { minLength: 1, maxLength: LONGEST, size: 'medium' })
  .map((parts) => parts.join(''))
  .filter((name) => Buffer.byteLength(name) <= LONGEST);

describe('random names', () => {
  it('are refused at once when they have no bytes, too many, or none of their own', async () => {
    const long = fc.string({ unit: 'binary', minLength: 500, maxLength: 600, size: 'max' });
    const halves = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map(codeUnit) });
    const backend = new MemoryBackend();
    const property = fc.asyncProperty(fc.oneof(names, long, halves), async (name) => {
      // Half of a surrogate pair comes back from its bytes as something else.
      const bytes = Buffer.from(name);
      const wellFormed = bytes.toString() === name;
      const make = (): unknown => new Semaphore(backend, name, { limit: 1 });
      if (!wellFormed) expect(make).to.throw(TypeError, /^name: /);
      else if (bytes.length < 1 || bytes.length > LONGEST) {
        expect(make).to.throw(RangeError, /^name: /);
      } else expect(make()).to.have.property('name', name);
    });
    await check(property, 1000);
  });
});

describeWithServer('random names on a server', (server) => {
  itThroughBothClients(
    'have permits of their own, and keys under one hash tag of their own',
    async (bench) => {
      const { target } = await bench.connect(server().port);
      let runs = 0;
      const pairs = fc.oneof(fc.tuple(names, names), fc.tuple(names, units).map(lookAlikes));
      const property = fc.asyncProperty(pairs, async ([one, other]) => {
        if (Buffer.byteLength(other) > LONGEST) return;
        const prefix = `names-${bench.kind}-${(runs += 1)}`;
        const open = (name: string): Semaphore => new Semaphore(target, name, { prefix, limit: 1 });
        const handle = await open(one).acquire(0);
        expect(await open(one).tryAcquire()).to.equal(null);
        const second = await open(other).tryAcquire();
        expect(second === null).to.equal(one === other);
        expect((await open(one).inspect()).held).to.equal(1);
        await second?.release();
        expect(await handle.release()).to.equal(true);
        await expectTags(prefix, one === other ? 1 : 2);
      });
      await check(property, 100);
    },
  );

  /** What a cluster would look at: from the first opening brace to the next closing one. */
  async function expectTags(prefix: string, count: number): Promise<void> {
    const keys = await server().command('KEYS', `${prefix}:*`);
    const list: readonly unknown[] = Array.isArray(keys) ? keys : [];
    const tags = list.map((key) => /^[^{]*\{([^}]+)\}/.exec(String(key))?.[1]);
    expect(tags).to.not.include(undefined);
    expect(new Set(tags).size, 'hash tags').to.equal(count);
  }
});

function codeUnit(code: number): string {
  return String.fromCharCode(code);
}

/** Two names that escaping might bring together. */
function lookAlikes([name, unit]: [string, string]): [string, string] {
  return [name + unit, name + unit.replaceAll('{', '%7B').replaceAll('}', '%7D')];
}
