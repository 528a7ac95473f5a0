import type { HistoryEvent, Report, Violation } from '../../history/events.js';
import { Beliefs } from './beliefs.js';
import { Calls } from './calls.js';
import { Leftovers } from './leftovers.js';
import { ServerModel } from './server-model.js';
import { Troubles } from './troubles.js';

/**
 * Reads a history, event by event, and reports a broken promise at once. It knows the contract and
 * the history, and nothing of src.
 */
export class Checker {
  readonly violations: Violation[] = [];
  readonly #troubles = new Troubles();
  readonly #beliefs: Beliefs;
  readonly #server: ServerModel;
  readonly #calls: Calls;
  readonly #leftovers: Leftovers;

  constructor() {
    const report: Report = (rule, at, message) => void this.violations.push({ rule, at, message });
    this.#beliefs = new Beliefs(this.#troubles, report);
    this.#server = new ServerModel(report, this.#beliefs);
    this.#calls = new Calls(this.#troubles, report);
    const [troubles, server, beliefs, calls] = [
      this.#troubles,
      this.#server,
      this.#beliefs,
      this.#calls,
    ];
    this.#leftovers = new Leftovers({ troubles, server, beliefs, calls }, report);
  }

  read(event: HistoryEvent): void {
    this.#troubles.read(event);
    this.#calls.read(event);
    this.#server.read(event);
    this.#beliefs.read(event, this.#server);
    this.#leftovers.read(event);
    if (event.type === 'crash') {
      this.violations.push({ rule: 'crash', at: event.at, message: event.error });
    }
    if (event.type === 'final') this.#readFinal(event);
  }

  /** Time has passed, with or without an event. */
  passTo(now: number): void {
    this.#beliefs.passTo(now);
    this.#calls.passTo(now);
    this.#leftovers.passTo(now);
  }

  #readFinal(event: HistoryEvent & { type: 'final' }): void {
    const { at, held, waiting, timers = 0, subscriptions = 0, unsettled = 0 } = event;
    if (held + waiting + timers + subscriptions + unsettled === 0) return;
    const message = `at the end ${held} permits are held, ${waiting} requests wait, ${timers} timers are set, ${subscriptions} subscriptions are open, ${unsettled} calls have not ended`;
    this.violations.push({ rule: 'leak', at, message });
  }
}
