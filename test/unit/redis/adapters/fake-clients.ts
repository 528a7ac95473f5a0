import { EventEmitter } from 'node:events';

/** What a fake client was called with, in order. */
export interface Recorded {
  readonly calls: unknown[][];
}

/** A subscriber whose every step a test decides. */
export class FakeSubscriber extends EventEmitter {
  readonly channels: string[] = [];
  connected = 0;
  ended = 0;
  unreferenced = 0;
  onConnect: () => Promise<void> = () => Promise.resolve();
  onSubscribe: () => Promise<void> = () => Promise.resolve();
  #listener: ((message: string) => void) | undefined;

  async connect(): Promise<void> {
    this.connected += 1;
    await this.onConnect();
  }

  async subscribe(channel: string, listener?: (message: string) => void): Promise<void> {
    await this.onSubscribe();
    this.channels.push(channel);
    this.#listener = listener;
  }

  /** As the server would send it: to the listener of node-redis, or as an event of ioredis. */
  message(text: string): void {
    if (this.#listener === undefined) this.emit('message', this.channels[0], text);
    else this.#listener(text);
  }

  unref(): void {
    this.unreferenced += 1;
  }

  destroy(): void {
    this.ended += 1;
  }

  disconnect(): Promise<void> {
    this.ended += 1;
    return Promise.resolve();
  }
}

/** What a subscription told. */
export function collected() {
  const messages: string[] = [];
  const health: boolean[] = [];
  const failures: string[] = [];
  const events = {
    onMessage: (message: string): void => void messages.push(message),
    onHealth: (healthy: boolean): void => void health.push(healthy),
    onFailed: (): void => void failures.push('failed'),
  };
  return { messages, health, failures, events };
}

/** Lets promises settle. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
