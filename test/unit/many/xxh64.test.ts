import { expect } from 'chai';
import { xxh64 } from '../../../src/many/xxh64.js';

/** The bytes that the sanity check of xxHash itself hashes (cli/xsum_sanity_check.c). */
function sanityBytes(length: number): Uint8Array {
  let generator = 2_654_435_761n;
  return Uint8Array.from({ length }, () => {
    const byte = Number(generator >> 56n);
    generator = BigInt.asUintN(64, generator * 11_400_714_785_074_694_797n);
    return byte;
  });
}

it('XXH64 gives the reference values of xxHash for every kind of length', () => {
  const values = [0, 1, 4, 14, 222].map((length) => xxh64(sanityBytes(length)));
  expect(values).to.deep.equal([
    0xef46db3751d8e999n,
    0xe934a84adb052768n,
    0x9136a0dca57457een,
    0x8282dcc4994e35c8n,
    0xb641ae8cb691c174n,
  ]);
});

it('XXH64 reads the part of a buffer that a view shows', () => {
  const bytes = sanityBytes(300);
  expect(xxh64(bytes.subarray(70, 170))).to.equal(xxh64(bytes.slice(70, 170)));
});
