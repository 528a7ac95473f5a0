/** What the network between one process and a server does to what it carries. */
export interface Conditions {
  /** Mean delay one way, in milliseconds. */
  readonly latency: number;
  /** Probabilities. */
  readonly loseCommands: number;
  readonly loseReplies: number;
  readonly losePushes: number;
  readonly duplicate: number;
  /** That a command runs seconds later, behind others that were sent after it. */
  readonly straggle: number;
  /** Subscriptions are refused. */
  readonly refuseSubscriptions: boolean;
  /** Commands that write are refused, as without rights. */
  readonly refuseWrites: boolean;
}

const FINE: Conditions = {
  latency: 0.5,
  loseCommands: 0,
  loseReplies: 0,
  losePushes: 0,
  duplicate: 0,
  straggle: 0,
  refuseSubscriptions: false,
  refuseWrites: false,
};

/** Conditions now: the worst of all faults that strike. */
export class Weather {
  readonly #faults = new Set<Partial<Conditions>>();
  now: Conditions = FINE;

  /** Gives what ends it. */
  worsen(fault: Partial<Conditions>): () => void {
    this.#faults.add(fault);
    this.#sum();
    return () => {
      this.#faults.delete(fault);
      this.#sum();
    };
  }

  #sum(): void {
    const faults = [FINE, ...this.#faults];
    const worst = (name: keyof Conditions): number =>
      Math.max(...faults.map((fault) => Number(fault[name] ?? 0)));
    this.now = {
      latency: worst('latency'),
      loseCommands: worst('loseCommands'),
      loseReplies: worst('loseReplies'),
      losePushes: worst('losePushes'),
      duplicate: worst('duplicate'),
      straggle: worst('straggle'),
      refuseSubscriptions: worst('refuseSubscriptions') > 0,
      refuseWrites: worst('refuseWrites') > 0,
    };
  }
}
