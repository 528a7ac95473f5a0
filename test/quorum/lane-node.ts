import type { SemaphoreKey } from '../../src/backends/backend.js';
import { NodeLane } from '../../src/backends/quorum/node-lane.js';
import type * as port from '../../src/backends/quorum/quorum-node.js';
import type { Clock } from '../../src/index.js';

interface Part<Call> {
  readonly name: string;
  readonly permits: number;
  readonly timeoutMs: number;
  readonly call: Call;
}

/** A node that one process reaches over lanes, as it does one on a server. */
export class LaneNode implements port.QuorumNode {
  readonly #node: port.QuorumNode;
  readonly #takes: NodeLane<Part<port.TakeCall>, port.TakeReply>;
  readonly #keeps: NodeLane<Part<port.KeepCall>, port.KeepReply>;
  readonly #drops: NodeLane<Part<port.DropCall>, port.DropReply>;

  constructor(node: port.QuorumNode, clock: Clock) {
    this.#node = node;
    this.#takes = laneTo(clock, (call) => node.take(call));
    this.#keeps = laneTo(clock, (call) => node.keep(call));
    this.#drops = laneTo(clock, (call) => node.drop(call));
  }

  get name(): string | undefined {
    return this.#node.name;
  }

  take(call: port.TakeCall): Promise<port.TakeReply> {
    return this.#takes.add(partOf(call));
  }

  keep(call: port.KeepCall): Promise<port.KeepReply> {
    return this.#keeps.add(partOf(call));
  }

  drop(call: port.DropCall): Promise<port.DropReply> {
    return this.#drops.add(partOf(call));
  }

  list(key: SemaphoreKey): Promise<port.ListReply> {
    return this.#node.list(key);
  }

  isRetryable(error: unknown): boolean {
    return this.#node.isRetryable(error);
  }
}

function partOf<Call extends { readonly timeoutMs?: number | undefined }>(call: Call): Part<Call> {
  return { name: 'any', permits: 1, timeoutMs: call.timeoutMs ?? 1000, call };
}

function laneTo<Call, Reply>(
  clock: Clock,
  send: (call: Call) => Promise<Reply>,
): NodeLane<Part<Call>, Reply> {
  return new NodeLane({
    clock,
    isRetryable: () => true,
    send: (parts) =>
      Promise.all(
        parts.map(({ call }) =>
          send(call).catch((error: unknown) =>
            error instanceof Error ? error : new Error(String(error)),
          ),
        ),
      ),
  });
}
