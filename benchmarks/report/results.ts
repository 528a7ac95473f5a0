import { median } from '../measure/quantile.js';
import type { SlowCalls } from '../measure/slow-calls.js';
import type { PeerId } from '../peers/catalog.js';
import type { Environment } from './environment.js';

export type Values = Readonly<Record<string, number>>;

/** What one run of one case found out about one peer in one scenario. */
export interface Measured {
  readonly scenario: string;
  readonly peer: PeerId;
  readonly values: Values;
}

/** One row of a results file: for each figure one number a round. */
export interface Row {
  readonly scenario: string;
  readonly peer: PeerId;
  readonly values: Readonly<Record<string, readonly number[]>>;
}

/** The content of `results/*.json`; tables, bars and charts are all made from it. */
export interface ResultFile {
  readonly question: string;
  readonly environment: Environment;
  /** Missing where nothing was watched for them. */
  readonly slowCalls?: SlowCalls | undefined;
  readonly rows: readonly Row[];
}

export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export class Results {
  readonly #rows: readonly Row[];

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  /** One number a round, in the order of the rounds; empty where it was not measured. */
  rounds(scenario: string, peer: PeerId, figure: string): readonly number[] {
    const row = this.#rows.find((each) => each.scenario === scenario && each.peer === peer);
    return row?.values[figure] ?? [];
  }

  /** Undefined where it was not measured. */
  spread(scenario: string, peer: PeerId, figure: string): Spread | undefined {
    const values = this.rounds(scenario, peer, figure);
    if (values.length === 0) return undefined;
    return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
  }

  median(scenario: string, peer: PeerId, figure: string): number | undefined {
    return this.spread(scenario, peer, figure)?.median;
  }

  scenarios(): string[] {
    return [...new Set(this.#rows.map(({ scenario }) => scenario))];
  }
}

/**
 * Puts the rounds of each scenario and peer together, in the order of the first round and of
 * `peerIds`.
 */
export function rowsOf(measured: readonly Measured[], peerIds: readonly PeerId[]): Row[] {
  const scenarios = [...new Set(measured.map(({ scenario }) => scenario))];
  return scenarios.flatMap((scenario) =>
    peerIds.flatMap((peer) => {
      const rounds = measured.filter((each) => each.scenario === scenario && each.peer === peer);
      const [first] = rounds;
      if (first === undefined) return [];
      const figures = Object.keys(first.values).map(
        (figure) => [figure, rounds.map(({ values }) => rounded(values[figure]))] as const,
      );
      return [{ scenario, peer, values: Object.fromEntries(figures) }];
    }),
  );
}

function rounded(value = NaN): number {
  return Number(value.toPrecision(4));
}
