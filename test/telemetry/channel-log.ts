import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { telemetry } from '../../src/telemetry.js';
import { afterTest } from '../support/after-test.js';

const TRACED = ['start', 'asyncStart', 'error'].map((event) => `tracing:redsem:acquire:${event}`);
export const CHANNELS: readonly string[] = Object.keys(telemetry).flatMap((name) =>
  name === 'acquire' ? TRACED : [`redsem:${name}`],
);

/** Writes down the messages about semaphores of one name. */
export class ChannelLog {
  readonly #messages: { channel: string; message: Record<string, unknown> }[] = [];
  readonly #undo: (() => void)[];

  constructor(semaphore: string) {
    this.#undo = CHANNELS.map((channel) => {
      const listener = (published: unknown): void => {
        // A copy: the context of a call changes until it has ended.
        const message = { ...(published as Record<string, unknown>) };
        if (message['name'] === semaphore) this.#messages.push({ channel, message });
      };
      subscribe(channel, listener);
      return () => unsubscribe(channel, listener);
    });
    afterTest(() => this.end());
  }

  of(channel: string): Record<string, unknown>[] {
    return this.#messages.filter((each) => each.channel === channel).map(({ message }) => message);
  }

  end(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }
}
