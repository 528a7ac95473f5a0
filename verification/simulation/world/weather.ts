/** The state of the network between one process and a server. */
export interface Conditions {
  /** Mean delay one way, in milliseconds. */
  readonly latency: number;
  /** Probabilities. */
  readonly loseCommands: number;
  readonly loseReplies: number;
  readonly losePushes: number;
  readonly duplicate: number;
  /** Of a command that arrives seconds later, behind commands that were sent after it. */
  readonly straggle: number;
  /** 1: subscriptions are refused. */
  readonly refuseSubscriptions: number;
  /** 1: commands that write are refused, as without rights. */
  readonly refuseWrites: number;
}

const FINE: Conditions = {
  latency: 0.5,
  loseCommands: 0,
  loseReplies: 0,
  losePushes: 0,
  duplicate: 0,
  straggle: 0,
  refuseSubscriptions: 0,
  refuseWrites: 0,
};

/** The worst conditions of all faults that strike now. */
export class Weather {
  readonly #faults = new Set<Partial<Conditions>>();
  now: Conditions = FINE;

  /** Gives the function that ends the fault. */
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
      Math.max(...faults.map((fault) => fault[name] ?? 0));
    const names = Object.keys(FINE) as (keyof Conditions)[];
    this.now = Object.fromEntries(names.map((name) => [name, worst(name)])) as Record<
      keyof Conditions,
      number
    >;
  }
}
