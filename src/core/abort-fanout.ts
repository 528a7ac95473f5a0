interface Fan {
  readonly listeners: Set<() => void>;
  readonly onAbort: () => void;
}

const fans = new WeakMap<AbortSignal, Fan>();

/**
 * Calls `listener` when `signal` aborts, unless the function that it gives is called before. Any
 * number of calls share one listener on the signal itself, because Node warns of a leak where a
 * long-lived signal has more than ten.
 */
export function onceAborted(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, onAbort } = fans.get(signal) ?? newFan(signal);
  listeners.add(listener);
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    fans.delete(signal);
    signal.removeEventListener('abort', onAbort);
  };
}

function newFan(signal: AbortSignal): Fan {
  const listeners = new Set<() => void>();
  const onAbort = (): void => {
    fans.delete(signal);
    for (const each of listeners) each();
  };
  const fan = { listeners, onAbort };
  fans.set(signal, fan);
  signal.addEventListener('abort', onAbort, { once: true });
  return fan;
}
