import type { HistoryEvent, Report, Violation } from '../history/events.js';
import { Beliefs } from './beliefs.js';
import { Calls } from './calls.js';
import { type Certainty, EXACT } from './certainty.js';
import { Leftovers } from './leftovers.js';
import { ServerModel } from './server-model.js';
import { ServerReads } from './server-reads.js';
import { Tokens } from './tokens.js';
import { Troubles } from './troubles.js';

/** Keys that stay for a day, for the tokens; the second is a quorum's. */
const REMEMBERED = ['info', 'qmeta'];

/**
 * Reads a history, event by event, and reports a broken promise at once. It knows the contract and
 * the history, and nothing of src.
 */
export class Checker {
  readonly violations: Violation[] = [];
  readonly #troubles: Troubles;
  readonly #beliefs: Beliefs;
  readonly #tokens: Tokens;
  readonly #server: ServerModel;
  readonly #calls: Calls;
  readonly #leftovers: Leftovers;
  readonly #reads: ServerReads;

  constructor(certainty: Certainty = EXACT) {
    const report: Report = (rule, at, message) => void this.violations.push({ rule, at, message });
    const troubles = (this.#troubles = new Troubles(certainty));
    const beliefs = (this.#beliefs = new Beliefs(troubles, certainty, report));
    const server = (this.#server = new ServerModel(report, beliefs));
    const calls = (this.#calls = new Calls(troubles, certainty, report));
    const tokens = (this.#tokens = new Tokens(report));
    this.#leftovers = new Leftovers({ troubles, server, beliefs, calls }, report);
    this.#reads = new ServerReads({ troubles, beliefs, calls, tokens }, certainty, report);
  }

  read(event: HistoryEvent): void {
    this.#troubles.read(event);
    if (event.type === 'fault') this.#reads.readFault(event);
    const isUnsure = this.#reads.isUnsure(event.at);
    this.#calls.read(event);
    this.#server.read(event);
    this.#beliefs.read(event, this.#server, isUnsure);
    this.#tokens.read(event, isUnsure || this.#server.tokensRepeat);
    this.#leftovers.read(event);
    this.#reads.read(event);
    if (event.type === 'crash') {
      this.violations.push({ rule: 'crash', at: event.at, message: event.error });
    }
    if (event.type === 'final') this.#readFinal(event);
  }

  /** The history is over. */
  end(): void {
    this.#reads.end();
  }

  /** Time has passed, with or without an event. */
  passTo(now: number): void {
    this.#beliefs.passTo(now);
    this.#calls.passTo(now);
    this.#leftovers.passTo(now);
  }

  #readFinal(event: HistoryEvent & { type: 'final' }): void {
    const { at, held, waiting, timers = 0, subscriptions = 0, unsettled = 0, keys = [] } = event;
    const left = keys.filter((key) => !REMEMBERED.includes(key));
    if (held + waiting + timers + subscriptions + unsettled + left.length === 0) return;
    const message = `at the end ${held} permits are held, ${waiting} requests wait, ${timers} timers are set, ${subscriptions} subscriptions are open, ${unsettled} calls have not ended, keys: ${left.join(', ')}`;
    this.violations.push({ rule: 'leak', at, message });
  }
}
