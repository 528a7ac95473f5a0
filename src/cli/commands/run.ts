import type { Arguments, Command } from '../arguments.js';
import { signalCode, SignalInbox } from '../child/child.js';
import { runWithPermit } from './permit-run.js';
import { planOf, RUN_OPTIONS } from './run-plan.js';

export const runCommand: Command = {
  synopsis: '[OPTION…] NAME -- COMMAND [ARG…]',
  summary: 'run a command while holding a permit',
  description: `
Waits for a permit of the semaphore NAME, runs COMMAND while it holds it, gives it back, and exits with the
exit code of COMMAND (128 + n when signal n ended it). No shell is involved.

COMMAND has the stdin, stdout, stderr and terminal of redsem. Where stderr is a terminal, a line there says
after a second which holders it waits for.

SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are passed on to COMMAND and all that it started;
while redsem waits, they end the wait. When the permit is lost (revoked, data gone, server away for longer
than --ttl), all of it gets SIGTERM, then SIGKILL; that is noticed within a third of --ttl, and before
the ttl is over when the server is away. Only kill -9 of redsem leaves COMMAND running without a
permit. A server that cannot be reached at the start is an error; if it goes away later, redsem waits for it.

COMMAND inherits what redsem has, but for what Node.js changes at its start: file descriptors from 3 on are
closed unless --pass-fd names them; the soft limit on open files is that of redsem's parent (Linux, by
prlimit; else the hard one); bytes that are no UTF-8 arrive changed; SIGHUP is never ignored (setsid, not
nohup).`,
  tables: {
    'Environment of COMMAND': [
      ['REDSEM_NAME', 'NAME'],
      ['REDSEM_SLOT', '0 to limit - 1, different for each that holds a permit'],
      ['REDSEM_SLOTS', 'with --permits: all of them, separated by commas'],
      ['REDSEM_FENCING_TOKEN', 'a number that rises with every grant'],
      ['REDIS_URL', 'as redsem has it, with its password'],
    ],
    'Exit codes, other than those of COMMAND': [
      ['75', 'no permit in time; -E changes it'],
      ['79', 'the permit was lost'],
      ['69', 'the server cannot be reached, or refuses'],
      ['64, 70, 74', 'wrong usage; an internal error; output cannot be written'],
      ['126, 127', 'COMMAND cannot be run; it was not found'],
      ['128 + n', 'signal n ended the wait, or COMMAND'],
    ],
  },
  options: RUN_OPTIONS,
  examples: {
    'redsem run --limit 3 --timeout 30s deploys -- ./deploy.sh':
      'at most 3 deployments at once; wait 30 s for a permit',
    'redsem run --skip-if-busy nightly -- ./nightly.sh':
      'in the crontab of every replica: one of them does it',
    'redsem run --rate 100/m -n 2 api -- ./call.sh':
      'at most 100 calls start in any minute, and 2 run at once',
    "redsem run -n 4 gpus -- sh -c 'CUDA_VISIBLE_DEVICES=$REDSEM_SLOT ./train'":
      'each of 4 uses a different GPU',
  },
  arguments: [1, 1],
  takesCommand: true,
  run,
};

async function run(args: Arguments): Promise<number> {
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
