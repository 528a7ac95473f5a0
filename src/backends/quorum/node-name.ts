/** The part of the options of either library that shows where a client connects. */
interface ClientOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string | null;
  readonly socket?: ClientOptions;
  readonly database?: number;
  readonly db?: number;
  readonly sentinels?: unknown;
  readonly rootNodes?: unknown;
}

/**
 * The name that processes give to the server of a client: its address, as the client knows it.
 * Undefined if the client does not show a single address: a cluster, a sentinel, a connection of
 * the user's own.
 */
export function nodeName(client: object): string | undefined {
  try {
    const { options = {} }: { readonly options?: ClientOptions } = client;
    const isNodeRedis = 'evalSha' in client && 'isReady' in client && 'select' in client;
    const isOneServer = isNodeRedis || (options.socket ?? options.port) !== undefined;
    const several = options.sentinels ?? options.rootNodes ?? undefined;
    if (several !== undefined || !isOneServer) return undefined;
    const { host = 'localhost', port = 6379, path } = options.socket ?? options;
    const server = path ?? `${host.toLowerCase()}:${port}`;
    const database = options.database ?? options.db ?? 0;
    const name = database > 0 ? `${server}/${database}` : server;
    return name.isWellFormed() ? name : undefined;
  } catch {
    // The client lets no program read its options.
    return undefined;
  }
}
