import type { ServerOptions } from '../../test/support/redis-server.js';
import type { Stage } from '../measure/stage.js';
import type { Named, Peer } from '../peers/catalog.js';
import type { Chart } from '../report/chart.js';
import type { Measured, Results } from '../report/results.js';
import { type Column, scenarioTable, type Table } from '../report/table.js';
import type { Verdict } from '../report/verdict.js';

/** `quick` only proves that everything runs. */
export type Pace = 'full' | 'quick';

export interface BenchCase {
  readonly label: string;
  run(stage: Stage): Promise<Measured[]>;
}

export interface Question {
  readonly name: string;
  /** In one sentence. */
  readonly asks: string;
  /** How to read the numbers, and which rows are missing, and why. */
  readonly notes: readonly string[];
  /** The program that this machine lacks for the question; undefined if it has all. */
  readonly lacks?: () => string | undefined;
  /**
   * How the servers of this question are started, if not in the usual way. Then their slow calls do
   * not count.
   */
  readonly server?: ServerOptions;
  /** How often each case runs; the cases take turns. */
  readonly rounds: number;
  cases(pace: Pace): BenchCase[];
  tables(results: Results): Table[];
  verdicts?(results: Results): Verdict[];
  charts?(results: Results): Chart[];
}

/** A case for each peer, which gives the peer's figures in a scenario. */
export function casesOf(
  peers: readonly Peer[],
  scenario: string,
  measure: (stage: Stage, peer: Peer) => Promise<Measured['values']>,
): BenchCase[] {
  return peers.map((peer) => ({
    label: `${scenario}: ${peer.label}`,
    run: async (stage) => [{ scenario, peer: peer.id, values: await measure(stage, peer) }],
  }));
}

/** A table for each scenario, with a row for each peer. */
export function tablesOf(peers: readonly Named[], columns: readonly Column[]) {
  return (results: Results): Table[] =>
    results.scenarios().map((title) => scenarioTable(results, title, peers, columns));
}
