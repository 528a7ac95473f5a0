import type { Handle } from '../../index.js';
import { describe } from '../failure.js';
import { withTimeout } from '../with-timeout.js';

/**
 * How long a server may be silent to a permit that is given back, in milliseconds. It may still
 * read it later.
 */
const RELEASE_TIME = 600;

/** By how much a timer may be early, in milliseconds. */
const EARLY = 2;

/** False when the permit had been lost before. */
export async function giveBack(
  handle: Pick<Handle, 'release' | 'expiresIn'>,
  warn: (message: string) => void,
): Promise<boolean> {
  const warnThat = (why: string): void =>
    warn(`warning: the permit may be free only when its ttl is over: ${why}`);
  const began = performance.now();
  const certain = handle.expiresIn;
  try {
    if (await withTimeout(RELEASE_TIME, 'releasing', handle.release())) return true;
  } catch (error) {
    warnThat(describe(error));
    return true;
  }
  if (certain === 0 || performance.now() - began < certain - EARLY) return false;
  // Then its lease ran out while the server was silent, and that came after the work.
  warnThat('releasing: no answer while its lease lasted');
  return true;
}
