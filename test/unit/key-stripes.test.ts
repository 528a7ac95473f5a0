import { expect } from 'chai';

import { KeyedMutex, MemoryBackend } from '../../src/index.js';
import { stripeHasher } from '../../src/key-stripes.js';

/**
 * XXH64 with seed 0, as published in https://github.com/cespare/xxhash/blob/main/xxhash_test.go; "abc" in the tests of
 * many other implementations.
 */
const VECTORS: readonly [key: string, hash: bigint][] = [
  ['', 0xef46db3751d8e999n],
  ['a', 0xd24ec4f1a98c6e5bn],
  ['as', 0x1c330fb2d66be179n],
  ['asd', 0x631c37ce72a97393n],
  ['asdf', 0x415872f599cea71en],
  ['abc', 0x44bc2cf5ad770999n],
  // Exactly 63 bytes, which exercises all code paths.
  ['Call me Ishmael. Some years ago--never mind how long precisely-', 0x02a2e85470d6fd96n],
];

describe('stripes of keys', () => {
  it('are the published XXH64 modulo their number', async () => {
    for (const stripes of [1, 2, 7, 64, 1000, 65_537, Number.MAX_SAFE_INTEGER]) {
      const stripeOf = await stripeHasher(stripes);
      for (const [key, hash] of VECTORS) {
        expect(stripeOf(key), `${key} of ${stripes}`).to.equal(Number(hash % BigInt(stripes)));
      }
    }
  });

  it('take the UTF-8 bytes of a key', async () => {
    const stripeOf = await stripeHasher(1_000_003);
    const stripes = ['é', '\u{1f600}', 'é'.normalize('NFD')].map(stripeOf);
    // By an implementation written from the specification alone: part of the wire contract.
    expect(stripes).to.deep.equal([547489, 190926, 935235]);
  });

  it('spread keys evenly', async () => {
    const stripeOf = await stripeHasher(16);
    const counts = Array.from({ length: 16 }, () => 0);
    for (let i = 0; i < 16_000; i += 1) {
      const stripe = stripeOf(`user:${i}`);
      counts[stripe] = (counts[stripe] ?? 0) + 1;
    }
    for (const count of counts) expect(count).to.be.within(850, 1150);
  });

  it('are the locks of a keyed mutex, under names that are part of the wire contract', async () => {
    await using mutex = new KeyedMutex(new MemoryBackend(), { name: 'jobs', stripes: 64 });
    const handle = await mutex.acquire(['a', 'abc'], 1000);
    const stripes = VECTORS.filter(([key]) => handle.keys.includes(key));
    const names = stripes.map(([, hash]) => `striped:jobs:64:${hash % 64n}`);
    expect(handle.handles.map(({ name }) => name)).to.deep.equal(names);
  });
});
