type Listener = () => void;

interface Fan {
  readonly listeners: Set<Listener>;
  readonly onAbort: Listener;
}

const fans = new WeakMap<AbortSignal, Fan>();

/**
 * Calls `listener` when `signal` aborts. Any number of calls share one listener on the signal
 * itself, for Node warns of a leak where a long-lived signal has more than ten.
 */
export function onceAborted(signal: AbortSignal, listener: Listener): void {
  let fan = fans.get(signal);
  if (fan === undefined) {
    const listeners = new Set<Listener>();
    const onAbort = (): void => {
      fans.delete(signal);
      for (const each of listeners) each();
    };
    fan = { listeners, onAbort };
    fans.set(signal, fan);
    signal.addEventListener('abort', onAbort, { once: true });
  }
  fan.listeners.add(listener);
}

export function forgetAbort(signal: AbortSignal, listener: Listener): void {
  const fan = fans.get(signal);
  if (fan === undefined || !fan.listeners.delete(listener) || fan.listeners.size > 0) return;
  fans.delete(signal);
  signal.removeEventListener('abort', fan.onAbort);
}
