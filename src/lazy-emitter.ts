import { EventEmitter } from 'node:events';

function LazyEmitter(): void {}
Object.setPrototypeOf(LazyEmitter.prototype, EventEmitter.prototype);

/**
 * Node's EventEmitter, which makes room for listeners when the first one comes, not in its constructor: most handles never
 * have any, and that room was a tenth of all that a permit allocates. Node's own methods know such emitters.
 */
export const EmitterOnDemand: typeof EventEmitter = Object.assign(LazyEmitter, EventEmitter);
