import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { telemetry } from '../../src/telemetry.js';

const TRACED = ['start', 'asyncStart', 'error'].map((event) => `tracing:redsem:acquire:${event}`);
export const CHANNELS: readonly string[] = Object.keys(telemetry).flatMap((name) =>
  name === 'acquire' ? TRACED : [`redsem:${name}`],
);

/** Writes down the messages about semaphores of one name. */
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

  of(channel: string): Record<string, unknown>[] {
    return this.#messages.filter((each) => each.channel === channel).map(({ message }) => message);
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }
}
