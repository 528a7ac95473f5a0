const PRIME_1 = 0x9e3779b185ebca87n;
const PRIME_2 = 0xc2b2ae3d27d4eb4fn;
const PRIME_3 = 0x165667b19e3779f9n;
const PRIME_4 = 0x85ebca77c2b2ae63n;
const PRIME_5 = 0x27d4eb2f165667c5n;

/**
 * The stripe of a key: the XXH64 of its UTF-8 bytes modulo the number of stripes. Part of the wire
 * contract between releases: it must never change.
 */
export function stripeOf(key: string, stripes: number): number {
  return Number(xxh64(Buffer.from(key)) % BigInt(stripes));
}

/** With seed 0 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). */
function xxh64(bytes: Buffer): bigint {
  const end = bytes.length;
  let at = end - (end % 32);
  let hash = wrap((at === 0 ? PRIME_5 : hashStripes(bytes, at)) + BigInt(end));
  const mix = (input: bigint, bits: bigint, times: bigint, plus: bigint): void => {
    hash = wrap(rotate(hash ^ wrap(input), bits) * times + plus);
  };
  for (; at + 8 <= end; at += 8) mix(round(0n, bytes.readBigUInt64LE(at)), 27n, PRIME_1, PRIME_4);
  if (at + 4 <= end) {
    mix(BigInt(bytes.readUInt32LE(at)) * PRIME_1, 23n, PRIME_2, PRIME_3);
    at += 4;
  }
  for (const byte of bytes.subarray(at)) mix(BigInt(byte) * PRIME_5, 11n, PRIME_1, 0n);
  hash = wrap((hash ^ (hash >> 33n)) * PRIME_2);
  hash = wrap((hash ^ (hash >> 29n)) * PRIME_3);
  return hash ^ (hash >> 32n);
}

/** The leading blocks of 32 bytes, in four lanes. */
function hashStripes(bytes: Buffer, end: number): bigint {
  const lanes = [PRIME_1 + PRIME_2, PRIME_2, 0n, -PRIME_1].map(wrap);
  for (let at = 0; at < end; at += 8) {
    const lane = (at / 8) % 4;
    lanes[lane] = round(lanes[lane] ?? 0n, bytes.readBigUInt64LE(at));
  }
  const rotations = [1n, 7n, 12n, 18n];
  const sum = lanes.reduce((total, lane, i) => total + rotate(lane, rotations[i] ?? 0n), 0n);
  return lanes.reduce((all, lane) => wrap((all ^ round(0n, lane)) * PRIME_1 + PRIME_4), wrap(sum));
}

const round = (lane: bigint, input: bigint): bigint =>
  wrap(rotate(wrap(lane + input * PRIME_2), 31n) * PRIME_1);

const rotate = (value: bigint, bits: bigint): bigint =>
  wrap(value << bits) | (value >> (64n - bits));

const wrap = (value: bigint): bigint => BigInt.asUintN(64, value);
