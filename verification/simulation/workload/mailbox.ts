import type { HandleData } from '../../../src/index.js';

/** Tickets that processes leave for each other, and ids for an operator. */
export class Mailbox {
  readonly tickets: HandleData[] = [];
  /** Ids of recent tickets. */
  readonly seen: { readonly name: string; readonly id: string }[] = [];

  note(name: string, id: string): void {
    if (name.startsWith('keyed:')) return;
    this.seen.push({ name, id });
    if (this.seen.length > 20) this.seen.shift();
  }
}
