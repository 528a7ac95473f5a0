import type {
  DropCall,
  DropReply,
  HoldCall,
  HoldReply,
  ListReply,
  QuorumNode,
} from '../../../src/backends/quorum/quorum-node.js';
import { MemoryQuorumNode } from '../../../test/quorum/memory-node.js';
import type { SemaphoreSettings } from '../../history/events.js';
import type { ServerClock } from './clocks.js';
import { damagedError, isRetryable } from './damage.js';
import { Gate } from './gate.js';
import type { Link } from './link.js';
import { plainCopy } from './plain-copy.js';
import type { Scheduler } from './scheduler.js';

/** One of several independent masters, at the end of a network. */
export class NodeGate extends Gate {
  readonly node: MemoryQuorumNode;

  constructor(scheduler: Scheduler, clock: ServerClock) {
    super(scheduler);
    this.node = new MemoryQuorumNode(clock);
  }

  async execute(_process: string, operation: string, given: object): Promise<unknown> {
    const call = plainCopy(given) as HoldCall & DropCall;
    if (this.damage.isAt(call)) throw damagedError(call);
    switch (operation) {
      case 'hold':
        return plainCopy(await this.node.hold(call));
      case 'drop':
        return plainCopy(await this.node.drop(call));
      default:
        return plainCopy(await this.node.list(call.key));
    }
  }

  loseData(): void {
    this.node.restart();
  }

  async remains(names: readonly SemaphoreSettings[]): Promise<{ held: number; waiting: number }> {
    const lists = await Promise.all(
      names.map(({ name }) => this.node.list({ prefix: 'redsem', name })),
    );
    return { held: lists.flatMap(({ tickets }) => tickets).length, waiting: 0 };
  }
}

/** The port of such a master, with a network behind it. */
export function remoteNode(link: Link): QuorumNode {
  return {
    hold: (call) => link.call('hold', call) as Promise<HoldReply>,
    drop: (call) => link.call('drop', call) as Promise<DropReply>,
    list: (key) => link.call('list', { key }) as Promise<ListReply>,
    isRetryable,
  };
}
