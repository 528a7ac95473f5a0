import type { Random } from '../random.js';
import { ProcessClock } from './clocks.js';
import type { Happening, Scheduler } from './scheduler.js';

/** One simulated process: it has its own clocks, may stop for a while, and may be killed. */
export class SimulatedProcess {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly scheduler: Scheduler;
  /** Processes that have run since their handles were read last. */
  static readonly touched = new Set<SimulatedProcess>();
  alive = true;
  stalledUntil = 0;
  readonly onKilled: (() => void)[] = [];

  constructor(name: string, scheduler: Scheduler, rate: number, random: Random) {
    this.name = name;
    this.scheduler = scheduler;
    this.clock = new ProcessClock(this, rate, random);
  }

  /** `patience`: how much later than timers it runs after a stall. */
  runAt(time: number, run: () => void, patience = 0.01): Happening {
    let cancelled = false;
    const enter = (): void => {
      if (cancelled || !this.alive) return;
      if (this.scheduler.now < this.stalledUntil) {
        this.scheduler.at(this.stalledUntil + patience, enter);
        return;
      }
      SimulatedProcess.touched.add(this);
      run();
    };
    const happening = this.scheduler.at(time, enter);
    return {
      cancel: () => {
        cancelled = true;
        happening.cancel();
      },
    };
  }

  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const listener of this.onKilled) listener();
  }
}
