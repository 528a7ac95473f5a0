const PRIME_1 = 0x9e3779b185ebca87n;
const PRIME_2 = 0xc2b2ae3d27d4eb4fn;
const PRIME_3 = 0x165667b19e3779f9n;
const PRIME_4 = 0x85ebca77c2b2ae63n;
const PRIME_5 = 0x27d4eb2f165667c5n;
const LANES = [PRIME_1 + PRIME_2, PRIME_2, 0n, -PRIME_1] as const;

/** XXH64 with seed 0 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). */
export function xxh64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const striped = bytes.length - (bytes.length % 32);
  const start = striped === 0 ? PRIME_5 : hashStripes(view, striped);
  return avalanche(hashTail(view, striped, wrap(start + BigInt(bytes.length))));
}

/** The leading blocks of 32 bytes, in four lanes. */
function hashStripes(view: DataView, end: number): bigint {
  const lanes = LANES.map(wrap);
  for (let at = 0; at < end; at += 32) {
    for (const [i, lane] of lanes.entries()) {
      lanes[i] = round(lane, view.getBigUint64(at + 8 * i, true));
    }
  }
  const [a = 0n, b = 0n, c = 0n, d = 0n] = lanes;
  const hash = wrap(rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n));
  return lanes.reduce((merged, lane) => wrap((merged ^ round(0n, lane)) * PRIME_1 + PRIME_4), hash);
}

/** The last 0 to 31 bytes: by eight, then four, then one. */
function hashTail(view: DataView, start: number, seed: bigint): bigint {
  let [at, hash] = [start, seed];
  for (; at + 8 <= view.byteLength; at += 8) {
    hash ^= round(0n, view.getBigUint64(at, true));
    hash = wrap(rotate(hash, 27n) * PRIME_1 + PRIME_4);
  }
  if (at + 4 <= view.byteLength) {
    hash ^= wrap(BigInt(view.getUint32(at, true)) * PRIME_1);
    hash = wrap(rotate(hash, 23n) * PRIME_2 + PRIME_3);
    at += 4;
  }
  for (; at < view.byteLength; at += 1) {
    hash ^= wrap(BigInt(view.getUint8(at)) * PRIME_5);
    hash = wrap(rotate(hash, 11n) * PRIME_1);
  }
  return hash;
}

function avalanche(hash: bigint): bigint {
  const first = wrap((hash ^ (hash >> 33n)) * PRIME_2);
  const second = wrap((first ^ (first >> 29n)) * PRIME_3);
  return second ^ (second >> 32n);
}

function round(lane: bigint, input: bigint): bigint {
  return wrap(rotate(wrap(lane + input * PRIME_2), 31n) * PRIME_1);
}

function rotate(value: bigint, bits: bigint): bigint {
  return wrap(value << bits) | (value >> (64n - bits));
}

function wrap(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}
