/** The state of the network between one process and a server while no fault strikes. */
const FINE = {
  /** Mean delay one way, in milliseconds. */
  latency: 0.5,
  /** Probabilities. */
  loseCommands: 0,
  loseReplies: 0,
  losePushes: 0,
  duplicate: 0,
  /** Of a command that arrives seconds later, behind commands that were sent after it. */
  straggle: 0,
  /** 1: subscriptions are refused. */
  refuseSubscriptions: 0,
  /** 1: commands that write are refused, as without rights. */
  refuseWrites: 0,
};

export type Conditions = Readonly<typeof FINE>;

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
    const worst = { ...FINE };
    for (const fault of this.#faults) {
      let name: keyof Conditions;
      for (name in FINE) worst[name] = Math.max(worst[name], fault[name] ?? 0);
    }
    this.now = worst;
  }
}
