import type { XXHashAPI } from 'xxhash-wasm';
import loadXxhash from 'xxhash-wasm';

let loading: Promise<XXHashAPI> | undefined;

/**
 * The stripe of a key: XXH64 (https://github.com/Cyan4973/xxHash, seed 0) of its UTF-8 bytes modulo the number of
 * stripes. Part of the wire contract between releases: it must never change.
 */
export async function stripeHasher(stripes: number): Promise<(key: string) => number> {
  loading ??= loadXxhash();
  const xxhash = await loading;
  const count = BigInt(stripes);
  return (key) => Number(xxhash.h64Raw(Buffer.from(key)) % count);
}
