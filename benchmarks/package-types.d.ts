// The little that the benchmarks use of packages that live in this folder's own node_modules, so
// that the repository type-checks without them. Redlock's beta does not name its types in its
// exports anyway.

declare module 'redis-semaphore' {
  export class Semaphore {
    constructor(
      client: object,
      key: string,
      limit: number,
      options: { lockTimeout: number; acquireTimeout: number },
    );
    readonly isAcquired: boolean;
    acquire(): Promise<void>;
    release(): Promise<void>;
  }
}

declare module 'redlock' {
  import type { EventEmitter } from 'node:events';

  class Redlock extends EventEmitter {
    constructor(clients: Iterable<object>);
    using<T>(
      resources: string[],
      duration: number,
      settings: { retryCount: number },
      routine: (signal: AbortSignal) => Promise<T>,
    ): Promise<T>;
  }
  export { Redlock as default };
}

declare module 'bottleneck' {
  class Bottleneck {
    constructor(options: {
      id: string;
      maxConcurrent: number;
      datastore: 'ioredis';
      connection: Bottleneck.IORedisConnection;
    });
    schedule<T>(options: { expiration: number }, job: () => Promise<T>): Promise<T>;
  }
  namespace Bottleneck {
    class IORedisConnection {
      constructor(options: { client: object });
      disconnect(flush: boolean): Promise<void>;
    }
  }
  export = Bottleneck;
}

declare module 'echarts' {
  export function init(
    element: null,
    theme: null,
    options: { renderer: 'svg'; ssr: true; width: number; height: number },
  ): { setOption(option: object): void; renderToSVGString(): string; dispose(): void };
}
