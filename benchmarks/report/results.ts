import { median } from '../measure/quantile.js';
import { type PeerId, peerIds } from '../peers/catalog.js';

/** The figures of a peer in a scenario, from a single run of a case. */
export interface Measured {
  readonly scenario: string;
  readonly peer: PeerId;
  readonly values: Readonly<Record<string, number>>;
}

/**
 * All rounds of a peer in a scenario: the median, the lowest and the highest value of each figure.
 */
export interface Row {
  readonly scenario: string;
  readonly peer: PeerId;
  readonly values: Readonly<Record<string, Spread>>;
}

/** Script calls of redsem that held a server up for too long. */
export interface SlowCalls {
  readonly count: number;
  /** The longest, in ms; 0 if there are none. */
  readonly longestMs: number;
}

/** The data of a question in `results/summary.json`: the source of its tables, bars and charts. */
export interface Answer {
  /** The machine and the programs. */
  readonly environment: string;
  /** Missing if the servers were not watched for slow calls. */
  readonly slowCalls?: SlowCalls | undefined;
  readonly rows: readonly Row[];
}

export type Spread = readonly [median: number, low: number, high: number];

export class Results {
  readonly #rows: readonly Row[];

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  /** Undefined if it was not measured. */
  spread(scenario: string, peer: PeerId, figure: string): Spread | undefined {
    const row = this.#rows.find((each) => each.scenario === scenario && each.peer === peer);
    return row?.values[figure];
  }

  median(scenario: string, peer: PeerId, figure: string): number | undefined {
    return this.spread(scenario, peer, figure)?.[0];
  }

  scenarios(): string[] {
    return [...new Set(this.#rows.map(({ scenario }) => scenario))];
  }
}

/** Joins the rounds, in the order of the first round and of `peerIds`. */
export function rowsOf(measured: readonly Measured[]): Row[] {
  const scenarios = [...new Set(measured.map(({ scenario }) => scenario))];
  return scenarios.flatMap((scenario) =>
    peerIds.flatMap((peer) => {
      const rounds = measured.filter((each) => each.scenario === scenario && each.peer === peer);
      const names = new Set(rounds.flatMap((round) => Object.keys(round.values)));
      const figures = [...names].map((figure) => {
        const values = rounds.flatMap((round) => round.values[figure] ?? []);
        const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)];
        return [figure, [rounded(middle), rounded(low), rounded(high)]] as const;
      });
      return rounds.length === 0 ? [] : [{ scenario, peer, values: Object.fromEntries(figures) }];
    }),
  );
}

function rounded(value: number): number {
  return Number(value.toPrecision(5));
}
