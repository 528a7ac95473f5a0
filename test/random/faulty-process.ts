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
import type { LossyServer } from './lossy-server.js';

/**
 * What becomes of a call: it works; it works, and is served once more when the process is `well` again, or before, to
 * nobody; it is served, and its answer comes only when the process is `well` again; it fails before it is served; it is
 * served and its answer is lost; it is served only when the process is `well` again, or before, to nobody; it is gone.
 */
export type Condition =
  'well' | 'twice' | 'slow answers' | 'failing' | 'losing answers' | 'late' | 'cut off';

/** Where pushes arrive. */
const PUSHING: readonly Condition[] = ['well', 'twice', 'slow answers'];

/** One process's way to the server that all share. */
export class FaultyProcess implements Backend {
  readonly #server: LossyServer;
  readonly #late: (() => Promise<unknown>)[] = [];
  readonly #answers: (() => void)[] = [];
  #condition: Condition = 'well';

  constructor(server: LossyServer) {
    this.#server = server;
  }

  get clock() {
    return this.#server.clock;
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** Serves what is late once it is well. */
  async become(condition: Condition): Promise<void> {
    this.#condition = condition;
    if (condition !== 'well') return;
    for (const answer of this.#answers.splice(0)) answer();
    for (const call of this.#late.splice(0)) await call();
  }

  /** One of the calls that are late is served. */
  async serveLate(pick: number): Promise<void> {
    const [call] = this.#late.splice(pick % Math.max(1, this.#late.length), 1);
    await call?.();
  }

  acquire(call: AcquireCall) {
    return this.#serve(() => this.#server.backend.acquire(call));
  }

  extend(call: ExtendCall) {
    return this.#serve(() => this.#server.backend.extend(call));
  }

  release(call: ReleaseCall) {
    return this.#serve(() => this.#server.backend.release(call));
  }

  inspect(call: InspectCall) {
    return this.#serve(() => this.#server.backend.inspect(call));
  }

  setLimit(call: SetLimitCall) {
    return this.#serve(() => this.#server.backend.setLimit(call));
  }

  adopt(call: AdoptCall) {
    return this.#serve(() => this.#server.backend.adopt(call));
  }

  revoke(call: RevokeCall) {
    return this.#serve(() => this.#server.backend.revoke(call));
  }

  listen(client: string, prefix: string, listener: GrantListener): Listening {
    const whenWell = (tell: () => void): void => {
      if (PUSHING.includes(this.#condition)) tell();
    };
    return this.#server.listen(client, prefix, {
      onGrants: (grants, name) => whenWell(() => listener.onGrants(grants, name)),
      onEnded: (ended, name) => whenWell(() => listener.onEnded?.(ended, name)),
      onHealth: (healthy) => listener.onHealth(healthy),
    });
  }

  async #serve<R>(call: () => Promise<R>): Promise<R> {
    switch (this.#condition) {
      case 'well':
        return call();
      case 'twice':
        this.#late.push(call);
        return call();
      case 'slow answers': {
        const reply = await call();
        await new Promise<void>((resolve) => this.#answers.push(resolve));
        return reply;
      }
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
