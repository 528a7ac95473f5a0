import type {
  AcquireCall,
  AdoptCall,
  Backend,
  ExtendCall,
  GrantListener,
  InspectCall,
  Listening,
  ReleaseCall,
  RevokeCall,
  SetLimitCall,
} from '../../src/backend.js';
import type { MemoryBackend } from '../../src/memory/memory-backend.js';

/**
 * What becomes of a call: it works; it fails before it is served; it is served and its answer is lost; it is served only
 * when the process is `well` again, to nobody; it is gone. Pushes arrive only where calls work.
 */
export type Condition = 'well' | 'failing' | 'losing answers' | 'late' | 'cut off';

/** One process's way to the backend that all share. */
export class FaultyProcess implements Backend {
  readonly #backend: MemoryBackend;
  readonly #late: (() => Promise<unknown>)[] = [];
  #condition: Condition = 'well';

  constructor(backend: MemoryBackend) {
    this.#backend = backend;
  }

  get clock() {
    return this.#backend.clock;
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** Serves what is late once it is well. */
  async become(condition: Condition): Promise<void> {
    this.#condition = condition;
    if (condition !== 'well') return;
    for (const call of this.#late.splice(0)) await call();
  }

  acquire(call: AcquireCall) {
    return this.#serve(() => this.#backend.acquire(call));
  }

  extend(call: ExtendCall) {
    return this.#serve(() => this.#backend.extend(call));
  }

  release(call: ReleaseCall) {
    return this.#serve(() => this.#backend.release(call));
  }

  inspect(call: InspectCall) {
    return this.#serve(() => this.#backend.inspect(call));
  }

  setLimit(call: SetLimitCall) {
    return this.#serve(() => this.#backend.setLimit(call));
  }

  adopt(call: AdoptCall) {
    return this.#serve(() => this.#backend.adopt(call));
  }

  revoke(call: RevokeCall) {
    return this.#serve(() => this.#backend.revoke(call));
  }

  listen(client: string, prefix: string, listener: GrantListener): Listening {
    const whenWell = (tell: () => void): void => {
      if (this.#condition === 'well') tell();
    };
    return this.#backend.listen(client, prefix, {
      onGrants: (grants) => whenWell(() => listener.onGrants(grants)),
      onEnded: (ended) => whenWell(() => listener.onEnded?.(ended)),
      onHealth: (healthy) => listener.onHealth(healthy),
    });
  }

  async #serve<R>(call: () => Promise<R>): Promise<R> {
    switch (this.#condition) {
      case 'well':
        return call();
      case 'failing':
        throw new Error('the connection is gone');
      case 'losing answers':
        await call();
        break;
      case 'late':
        this.#late.push(call);
        break;
      case 'cut off':
        break;
    }
    return new Promise<never>(() => {});
  }
}
