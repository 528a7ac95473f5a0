import type { Arguments } from '../arguments.js';
import { signalCode, SignalInbox } from '../child/child.js';
import { runWithPermit } from './permit-run.js';
import { planOf } from './run-plan.js';

export async function run(args: Arguments): Promise<number> {
  const plan = planOf(args);
  const signals = new SignalInbox();
  const code = await runWithPermit(plan, signals).finally(() => signals.close());
  if (code === signalCode('SIGINT')) {
    // On Ctrl-C a shell ends its script only if the signal has ended the program, too. The exit
    // code is the same.
    process.kill(process.pid, 'SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  return code;
}
