import type { Clock } from '../../time/clock.js';
import { CallTimeoutError } from '../../time/call-timeout.js';
import { nodesWhere } from './majorities.js';
import { SilentNodeError } from './node-link.js';
import type { NodeLink } from './node-link.js';
import type { CallTiming, NodeReply, QuorumNode } from './quorum-node.js';

/** What a node answered; undefined where it has not yet. */
export type Answer<Reply> =
  | { readonly reply: Reply }
  /** `sent`: whether the call may have been, or may yet be, executed. */
  | { readonly error: unknown; readonly sent: boolean };

/** In the order of the nodes. */
export type Answers<Reply> = readonly (Answer<Reply> | undefined)[];

export interface RoundOptions<Reply extends NodeReply> {
  readonly clock: Clock;
  /** How long to wait for any node. */
  readonly timeoutMs: number;
  readonly send: (node: QuorumNode, timing: CallTiming) => Promise<Reply>;
  /** Whether what is still missing can change nothing any more. */
  readonly decided: (answers: Answers<Reply>) => boolean;
  /** An answer that came when the round was over. */
  readonly onLate?: (index: number, answer: Answer<Reply>) => void;
}

/**
 * Asks all nodes at once, and gives what they answered as soon as that decides, or when the time
 * for it is over: a node that hangs delays nobody. Never rejects.
 */
export function askAll<Reply extends NodeReply>(
  links: readonly NodeLink[],
  options: RoundOptions<Reply>,
): Promise<Answers<Reply>> {
  const { clock, timeoutMs, send, decided, onLate } = options;
  return new Promise((resolve) => {
    const answers: (Answer<Reply> | undefined)[] = links.map(() => undefined);
    let over = false;
    const end = (): void => {
      over = true;
      timer.cancel();
      resolve([...answers]);
    };
    const conclude = (): void => {
      if (over) return;
      const silence: Answer<Reply> = { error: new CallTimeoutError(timeoutMs), sent: true };
      answers.forEach((answer, i) => (answers[i] = answer ?? silence));
      end();
    };
    // After a stall of the event loop timers run first: what has arrived meanwhile must be read
    // before it counts as silence.
    const timer = clock.schedule(() => void setImmediate(conclude), timeoutMs, false);
    const settle = (index: number, answer: Answer<Reply>): void => {
      if (over) {
        onLate?.(index, answer);
        return;
      }
      answers[index] = answer;
      if (decided(answers) || answers.every((given) => given !== undefined)) end();
    };
    links.forEach((link, index) => {
      link.call(timeoutMs, send).then(
        (reply) => settle(index, { reply }),
        (error: unknown) => settle(index, { error, sent: !(error instanceof SilentNodeError) }),
      );
    });
  });
}

/** The nodes that have not answered yet. */
export function pendingIn(answers: Answers<unknown>): number {
  return nodesWhere(answers, (answer) => answer === undefined);
}

/** The nodes that replied. */
export function repliedIn(answers: Answers<unknown>): number {
  return nodesWhere(answers, (answer) => answer !== undefined && 'reply' in answer);
}

/** What the nodes replied, in their order; undefined where one did not. */
export function repliesIn<Reply>(answers: Answers<Reply>): (Reply | undefined)[] {
  return answers.map((answer) =>
    answer !== undefined && 'reply' in answer ? answer.reply : undefined,
  );
}

/** Why nodes gave no reply, in the order of the nodes. */
export function reasonsIn(answers: Answers<unknown>): unknown[] {
  return answers.map((answer) =>
    answer !== undefined && 'error' in answer ? answer.error : undefined,
  );
}
