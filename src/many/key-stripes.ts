import { xxh64 } from './xxh64.js';

/**
 * The stripe of a key: the XXH64 of its UTF-8 bytes modulo the number of stripes. Part of the wire
 * contract between releases: it must never change.
 */
export function stripeOf(key: string, stripes: number): number {
  return Number(xxh64(Buffer.from(key)) % BigInt(stripes));
}
