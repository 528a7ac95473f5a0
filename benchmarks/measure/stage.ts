import { startServer, type TestServer } from '../../test/support/redis-server.js';
import type { Peer } from '../peers/catalog.js';
import { BenchWorker } from './bench-worker.js';

/** What one case has for itself: a fresh server and processes that nobody used before. */
export class Stage {
  readonly server: TestServer;
  readonly #workers: BenchWorker[] = [];

  private constructor(server: TestServer) {
    this.server = server;
  }

  static async open(): Promise<Stage> {
    return new Stage(await startServer());
  }

  /** Worker processes, each with a connected client of its own. */
  async workers(peer: Peer, count: number): Promise<BenchWorker[]> {
    const workers = Array.from({ length: count }, () => new BenchWorker(peer.build));
    this.#workers.push(...workers);
    const { url } = this.server;
    await Promise.all(workers.map((worker) => worker.ask('connect', { peer: peer.id, url })));
    return workers;
  }

  async worker(peer: Peer): Promise<BenchWorker> {
    const [worker] = await this.workers(peer, 1);
    if (worker === undefined) throw new Error('no worker started');
    return worker;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await this.server.stop();
  }
}
