import {
  type ServerOptions,
  startServer,
  type TestServer,
} from '../../test/support/redis-server.js';
import { isRedsem, type Peer } from '../peers/catalog.js';
import { BenchWorker } from './bench-worker.js';
import { logSlowCalls, readSlowCalls } from './slow-calls.js';

/** The surroundings of a case: a fresh server and fresh processes. */
export class Stage {
  readonly server: TestServer;
  readonly #workers: BenchWorker[] = [];
  #onlyRedsem = true;

  private constructor(server: TestServer) {
    this.server = server;
  }

  static async open(options: ServerOptions = {}): Promise<Stage> {
    const server = await startServer(options);
    await logSlowCalls(server);
    return new Stage(server);
  }

  /** Worker processes, each with its own connected client. */
  async workers(peer: Peer, count: number): Promise<BenchWorker[]> {
    const workers = Array.from({ length: count }, () => new BenchWorker(peer.build));
    this.#workers.push(...workers);
    this.#onlyRedsem &&= isRedsem(peer);
    const { url } = this.server;
    await Promise.all(workers.map((worker) => worker.ask('connect', { peer: peer.id, url })));
    return workers;
  }

  async pair(peer: Peer): Promise<[BenchWorker, BenchWorker]> {
    return [await this.worker(peer), await this.worker(peer)];
  }

  async worker(peer: Peer): Promise<BenchWorker> {
    const [worker] = await this.workers(peer, 1);
    if (worker === undefined) throw new Error('no worker started');
    return worker;
  }

  /** Durations of slow calls of redsem's scripts; undefined if another peer's scripts ran. */
  async slowCalls(): Promise<number[] | undefined> {
    return this.#onlyRedsem ? readSlowCalls(this.server) : undefined;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await this.server.stop();
  }
}
