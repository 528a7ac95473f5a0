import { subscribe, unsubscribe } from 'node:diagnostics_channel';

const CHANNELS = [
  'tracing:redsem:acquire:start',
  'tracing:redsem:acquire:asyncStart',
  'tracing:redsem:acquire:error',
  'redsem:wait',
  'redsem:queue',
  'redsem:grant',
  'redsem:extend',
  'redsem:lost',
  'redsem:release',
  'redsem:drop',
  'redsem:mismatch',
];

/** Writes down what is published about semaphores of one name. */
export class ChannelLog {
  readonly #messages: { channel: string; message: Record<string, unknown> }[] = [];
  readonly #undo: (() => void)[] = [];

  constructor(semaphore: string) {
    for (const channel of CHANNELS) {
      const listener = (published: unknown): void => {
        const message = published as Record<string, unknown>;
        // A copy: the context of a call changes until it has ended.
        if (message['name'] === semaphore)
          this.#messages.push({ channel, message: { ...message } });
      };
      subscribe(channel, listener);
      this.#undo.push(() => unsubscribe(channel, listener));
    }
  }

  /** In the order in which they came. */
  get channels(): string[] {
    return this.#messages.map(({ channel }) => channel);
  }

  of(channel: string): Record<string, unknown>[] {
    return this.#messages.filter((each) => each.channel === channel).map(({ message }) => message);
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }
}
