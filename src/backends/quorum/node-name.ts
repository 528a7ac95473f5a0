/**
 * What processes call the server of a client: its address, as the client knows it. Undefined where
 * the client does not show one address: a cluster, a sentinel, a connection of the user's own.
 */
export function nodeName(client: object): string | undefined {
  try {
    const name = addressOf(client);
    return name?.isWellFormed() === true ? name : undefined;
  } catch {
    // A client that does not want to be looked at.
    return undefined;
  }
}

function addressOf(client: object): string | undefined {
  const options = objectIn(client, 'options');
  if (options === undefined) return isNodeRedis(client) ? address({}, undefined) : undefined;
  if (isGiven(options, 'sentinels') || isGiven(options, 'rootNodes')) return undefined;
  const socket = objectIn(options, 'socket');
  if (socket !== undefined) return address(socket, Reflect.get(options, 'database'));
  if (!isNodeRedis(client) && !isGiven(options, 'port')) return undefined;
  return address(options, Reflect.get(options, 'db') ?? Reflect.get(options, 'database'));
}

/** With the defaults that both libraries have. */
function address(place: object, database: unknown): string {
  const { host = 'localhost', port = 6379, path }: Record<string, unknown> = { ...place };
  const server = typeof path === 'string' ? path : `${String(host).toLowerCase()}:${String(port)}`;
  return typeof database === 'number' && database > 0 ? `${server}/${database}` : server;
}

/** One that connects to one server. */
function isNodeRedis(client: object): boolean {
  return 'evalSha' in client && 'isReady' in client && 'select' in client;
}

function objectIn(holder: object, name: string): object | undefined {
  const value: unknown = Reflect.get(holder, name);
  return typeof value === 'object' && value !== null ? value : undefined;
}

function isGiven(options: object, name: string): boolean {
  const value: unknown = Reflect.get(options, name);
  return value !== undefined && value !== null;
}
