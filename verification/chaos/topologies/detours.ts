import { type FaultProxy, startProxy } from '../../support/fault-proxy.js';
import type { PlannedFault } from '../nemesis/plan.js';
import { injectProxyFault } from './proxy-faults.js';
import { type Undo, WORKERS } from './topology.js';

/** One of several servers that show clients where the others are. */
interface Destination {
  /** The port that they name. */
  readonly named: number;
  readonly port: number;
}

interface Way {
  readonly named: number;
  /** One for each worker. */
  readonly proxies: readonly FaultProxy[];
}

/**
 * Separate proxies for each worker to servers that name each other to their clients. The clients'
 * address maps lead them there; replication, sentinels and the observer stay on the straight way.
 */
export class Detours {
  readonly #ways: readonly Way[];

  static async start(destinations: readonly Destination[]): Promise<Detours> {
    const ways = destinations.map(async ({ named, port }) => {
      const starts = Array.from({ length: WORKERS }, () => startProxy(port));
      return { named, proxies: await Promise.all(starts) };
    });
    return new Detours(await Promise.all(ways));
  }

  private constructor(ways: readonly Way[]) {
    this.#ways = ways;
  }

  /** By the port that a server is named with, where the worker goes instead. */
  of(worker: number): Record<number, number> {
    const detours: Record<number, number> = {};
    for (const { named, proxies } of this.#ways) detours[named] = proxies[worker]?.port ?? named;
    return detours;
  }

  /** Strikes all ways of each worker that the fault is for. */
  async inject(fault: PlannedFault): Promise<Undo | undefined> {
    const injected = this.#ways.map(({ proxies }) => injectProxyFault(proxies, fault));
    const undos = (await Promise.all(injected)).filter((undo) => undo !== undefined);
    if (undos.length === 0) return undefined;
    return async () => void (await Promise.all(undos.map((undo) => undo())));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#ways.flatMap(({ proxies }) => proxies.map((proxy) => proxy.stop())));
  }
}
