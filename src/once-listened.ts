import { EventEmitter } from 'node:events';

/** Calls back once, when the first listener for `event` is added. */
export function onceListened<Events extends Record<keyof Events, unknown[]>>(
  emitter: EventEmitter<Events>,
  event: keyof Events,
  callback: () => void,
): void {
  const onListener = (added: unknown): void => {
    if (added !== event) return;
    EventEmitter.prototype.off.call(emitter, 'newListener', onListener);
    callback();
  };
  EventEmitter.prototype.on.call(emitter, 'newListener', onListener);
}
