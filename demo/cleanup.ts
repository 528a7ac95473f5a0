import { constants } from 'node:os';

const steps: (() => void)[] = [];

/**
 * Runs `step` when this process ends, however it ends short of SIGKILL; the newest step first.
 * Steps are synchronous.
 */
export function atEnd(step: () => void): void {
  if (steps.length === 0) watchEnd();
  steps.push(step);
}

function watchEnd(): void {
  process.on('exit', () => {
    for (const step of steps.splice(0).toReversed()) {
      try {
        step();
      } catch (error) {
        process.exitCode = 1;
        console.error(error);
      }
    }
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
  // The reader of the output may leave, as in `npm run demo | head`.
  process.stdout.on('error', () => process.exit(1));
}

/** Whatever hangs: the demo ends with exit code 1 after that time since the process began. */
export function endAfter(milliseconds: number): void {
  const left = milliseconds - performance.now();
  setTimeout(() => {
    console.error(`demo: not finished after ${milliseconds / 1000} s, ended by its deadline`);
    process.exit(1);
  }, left).unref();
}
