import type { HandleData } from '../../../src/index.js';

/** Where simulated processes leave tickets for each other, and ids for an operator. */
export class Mailbox {
  readonly tickets: HandleData[] = [];
  /** Ids of tickets that were held lately. */
  readonly seen: { readonly name: string; readonly id: string }[] = [];

  note(name: string, id: string): void {
    if (name.startsWith('keyed:')) return;
    this.seen.push({ name, id });
    if (this.seen.length > 20) this.seen.shift();
  }
}
