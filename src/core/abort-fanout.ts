/** The listeners of one signal: it hears of its end. */
class Fan extends Set<() => void> {
  handleEvent(): void {
    for (const listener of this) listener();
  }
}

const fans = new WeakMap<AbortSignal, Fan>();

/**
 * Calls `listener` when `signal` aborts, unless the function that it gives is called before. Any
 * number of calls share one listener on the signal itself, because Node warns of a leak where a
 * long-lived signal has more than ten.
 */
export function onceAborted(signal: AbortSignal, listener: () => void): () => void {
  const fan = fans.get(signal) ?? new Fan();
  fans.set(signal, fan);
  if (fan.size === 0) signal.addEventListener('abort', fan, { once: true });
  fan.add(listener);
  return () => {
    if (fan.delete(listener) && fan.size === 0) signal.removeEventListener('abort', fan);
  };
}
