/** The copy that the other side of a network gets. */
export function plainCopy<T>(value: T): T;
export function plainCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => plainCopy(item));
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  const copy: Record<string, unknown> = {};
  for (const name in value) copy[name] = plainCopy(Reflect.get(value, name));
  return copy;
}

/** One call, or calls that travel together. A request of the core has getters, and more fields. */
export function copyCall(call: object): object {
  if (Array.isArray(call)) return call.map((each: object) => copyCall(each));
  if (!('requests' in call) || !Array.isArray(call.requests)) return plainCopy(call);
  const { requests, ...rest } = call;
  return { ...plainCopy(rest), requests: requests.map((request: object) => copyRequest(request)) };
}

function copyRequest(request: object): object {
  if (!('arrival' in request) || !('permits' in request)) return plainCopy(request);
  const names = ['id', 'permits', 'wait', 'arrival', 'order', 'cost', 'asksProgress'];
  return Object.fromEntries(names.map((name) => [name, plainCopy(Reflect.get(request, name))]));
}
