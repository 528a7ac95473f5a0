import type { ServerOptions } from '../../test/support/redis-server.js';
import type { Stage } from '../measure/stage.js';
import type { Chart } from '../report/chart.js';
import type { Measured, Results } from '../report/results.js';
import type { Table } from '../report/table.js';
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
  /** What this machine lacks for it; undefined where it can be asked. */
  readonly lacks?: () => string | undefined;
  /**
   * How its servers are started, where that is not as usual. Their slow calls then do not count.
   */
  readonly server?: ServerOptions;
  /** How often each case is run, all cases taking turns. */
  readonly rounds: number;
  cases(pace: Pace): BenchCase[];
  tables(results: Results): Table[];
  verdicts(results: Results): Verdict[];
  charts(results: Results): Chart[];
}
