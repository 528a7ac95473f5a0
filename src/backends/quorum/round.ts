import type { Clock } from '../../time/clock.js';
import { CallTimeoutError } from '../../time/call-timeout.js';
import type { NodeLink } from './node-link.js';
import type { CallTiming, NodeReply, QuorumNode } from './quorum-node.js';
import { nodesWhere } from './votes.js';

/** What the nodes answered, in their order. */
export interface Answers<Reply> {
  readonly replies: (Reply | undefined)[];
  /** Why nodes gave no reply. */
  readonly errors: unknown[];
  /** The nodes of which neither has come. */
  pending: number;
}

export interface Question<Reply extends NodeReply> {
  /** How long to wait for any node. */
  readonly timeoutMs: number;
  readonly send: (node: QuorumNode, timing: CallTiming) => Promise<Reply>;
  /** Whether what is missing can change nothing any more. `node`: the last that answered. */
  readonly isDecided: (answers: Answers<Reply>, node: number) => boolean;
  /** Takes a reply that came when the round was over; undefined: the call has failed. */
  readonly onLate?: (node: number, reply: Reply | undefined) => void;
}

/**
 * Asks all nodes at once, and gives what they answered as soon as that decides, or when the time
 * for it is over: a node that hangs delays no caller. Never rejects.
 */
export function askAll<Reply extends NodeReply>(
  { links, clock }: { readonly links: readonly NodeLink[]; readonly clock: Clock },
  { timeoutMs, send, isDecided, onLate }: Question<Reply>,
): Promise<Answers<Reply>> {
  return new Promise((resolve) => {
    const answers: Answers<Reply> = {
      replies: links.map(() => undefined),
      errors: links.map(() => undefined),
      pending: nodesWhere(links, () => true),
    };
    let isOver = false;
    const end = (): void => {
      isOver = true;
      timer.cancel();
      resolve(answers);
    };
    const onTimeout = (): void => {
      if (isOver) return;
      links.forEach((_, node) => {
        if ((answers.pending >> node) & 1) answers.errors[node] = new CallTimeoutError(timeoutMs);
      });
      end();
    };
    // After a stall of the event loop timers run first: what has arrived meanwhile must be read
    // before it counts as silence.
    const timer = clock.schedule(() => void setImmediate(onTimeout), timeoutMs, false);
    links.forEach((link, node) => {
      const settle = (reply: Reply | undefined, error?: unknown): void => {
        if (isOver) {
          onLate?.(node, reply);
          return;
        }
        answers.replies[node] = reply;
        answers.errors[node] = error;
        answers.pending &= ~(1 << node);
        if (isDecided(answers, node) || answers.pending === 0) end();
      };
      link.call(timeoutMs, send).then(settle, (error: unknown) => settle(undefined, error));
    });
  });
}

/** The nodes that replied. */
export function repliedIn({ replies }: Answers<unknown>): number {
  return nodesWhere(replies, (reply) => reply !== undefined);
}
