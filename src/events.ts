import { EventEmitter } from 'node:events';
import { typeError } from './arguments/validation.js';
import type { HandleLostError } from './errors.js';

/** Every event of a handle and what its listeners get. */
export interface HandleEvents {
  /**
   * The holder can no longer be sure of its permit: stop working. Emitted at most once; a listener
   * that is added after the loss gets it, too.
   */
  lost: [error: HandleLostError];
  /** `release()` has ended. */
  released: [];
}

function LazyEmitter(): void {}
Object.setPrototypeOf(LazyEmitter.prototype, EventEmitter.prototype);

/**
 * Node's EventEmitter, which makes room for listeners when the first listener comes, and not in its
 * constructor. Most handles never have a listener, and that room was a tenth of the memory of a
 * permit. Node's own methods know such emitters.
 */
export const EmitterOnDemand: typeof EventEmitter = Object.assign(LazyEmitter, EventEmitter);

/** An object that can be lost once, and also notifies listeners that are added after the loss. */
export abstract class LossEmitter extends EmitterOnDemand<HandleEvents> {
  /** @internal The first `lost` listener was added; gives the loss, if it has happened. */
  protected abstract onLossListener(): HandleLostError | undefined;

  /**
   * @internal Only an object that outlives its first extension, or its permit, pays for this. A
   *   second call changes nothing, because each listener is called once.
   */
  protected watchListeners(): void {
    EventEmitter.prototype.on.call(this, 'newListener', (event: unknown) => {
      if (event !== 'lost') return;
      const error = this.onLossListener();
      if (error !== undefined) process.nextTick(() => this.emitLost(error));
    });
  }

  /**
   * @internal Each listener is called once and then removed, so that a listener that is added later
   *   is called alone.
   */
  protected emitLost(error: HandleLostError): void {
    const listeners = this.rawListeners('lost');
    this.removeAllListeners('lost');
    for (const listener of listeners) this.#call(listener, error);
  }

  /** @internal Its release has ended. */
  onReleased(): void {
    if (this.listenerCount('released') === 0) return;
    for (const listener of this.rawListeners('released')) this.#call(listener);
  }

  // The error of a listener becomes an uncaught exception. The other listeners are still called,
  // and releases end.
  #call(listener: (...args: never[]) => void, ...args: unknown[]): void {
    try {
      Reflect.apply(listener, this, args);
    } catch (thrown) {
      process.nextTick(() => {
        throw thrown;
      });
    }
  }
}

/** Calls back once, when the first listener for `event` is added. */
export function onceListened(emitter: object, event: string, callback: () => void): void {
  const onListener = (added: unknown): void => {
    if (added !== event) return;
    EventEmitter.prototype.off.call(emitter, 'newListener', onListener);
    callback();
  };
  EventEmitter.prototype.on.call(emitter, 'newListener', onListener);
}

/** Refuses a listener on a semaphore for an event of its handles. */
export function refuseEventsOfHandles(event: unknown): void {
  if (event !== 'lost' && event !== 'released') return;
  throw typeError(`event: expected warning (${event} is an event of a handle), got '${event}'`);
}
