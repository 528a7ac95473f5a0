import type { Handle } from '../../index.js';
import { AcquireTimeoutError, HandleLostError, Semaphore } from '../../index.js';
import type { Arguments } from '../arguments.js';
import { Child, codeOf, signalCode } from '../child/child.js';
import { SignalInbox } from '../child/signal-inbox.js';
import type { Command } from '../command.js';
import { connect } from '../connect.js';
import { EXIT } from '../exit-code.js';
import { describe, Failure, UnavailableError, usageOf } from '../failure.js';
import { complain } from '../output.js';
import type { Server } from '../server.js';
import type { RunPlan } from './run-plan.js';
import { planOf, RUN_OPTIONS } from './run-plan.js';

export const runCommand: Command = {
  name: 'run',
  synopsis: '[OPTION…] NAME -- COMMAND [ARG…]',
  summary: 'run a command while holding a permit',
  description: `
Waits for a permit of the semaphore NAME, runs COMMAND while it holds it, gives it back, and exits with the
exit code of COMMAND (128 + n when signal n ended it). No shell is involved.

COMMAND has the stdin, stdout, stderr and terminal of redsem, and in its environment REDSEM_NAME,
REDSEM_SLOT (0 to limit - 1, different for each who holds a permit; with --permits the first one, all of
them in REDSEM_SLOTS, separated by commas) and REDSEM_FENCING_TOKEN (a number that rises with every grant).

SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are passed on to COMMAND and all that it started;
while redsem waits, they end the wait. When the permit is lost (revoked, data gone, server away for longer
than --ttl), all of it gets SIGTERM, then SIGKILL; that is noticed within a third of --ttl, and before
the ttl is over when the server is away. Only kill -9 of redsem leaves COMMAND running without a
permit. A server that cannot be reached at the start is an error; one that goes away later is waited for.

Exit codes other than those of COMMAND: 75 no permit in time (-E changes it), 69 the server cannot be
reached or refuses, 79 the permit was lost, 64 wrong usage, 126 COMMAND cannot be run, 127 not found.`,
  options: RUN_OPTIONS,
  examples: [
    [
      'redsem run --limit 3 --timeout 30s deploys -- ./deploy.sh',
      'at most 3 deployments at once; wait 30 s for a permit',
    ],
    [
      'redsem run --skip-if-busy nightly -- ./nightly.sh',
      'in the crontab of every replica: one of them does it',
    ],
    [
      "redsem run -n 4 gpus -- sh -c 'CUDA_VISIBLE_DEVICES=$REDSEM_SLOT ./train'",
      'each of 4 uses a GPU of its own',
    ],
  ],
  arguments: [1, 1],
  takesCommand: true,
  run,
};

async function run(args: Arguments): Promise<number> {
  const plan = planOf(args);
  const signals = new SignalInbox();
  let code: number;
  try {
    code = await connectAndRun(plan, signals);
  } catch (error) {
    if (!signals.interrupted.aborted) throw error;
    code = signalCode(signals.interruptedBy ?? 'SIGTERM');
  } finally {
    signals.close();
  }
  if (code === signalCode('SIGINT')) await endAsInterrupted();
  return code;
}

/** A shell ends its script on Ctrl-C only if the program was ended by the signal, too. It shows the same code. */
async function endAsInterrupted(): Promise<void> {
  process.kill(process.pid, 'SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 1000));
}

async function connectAndRun(plan: RunPlan, signals: SignalInbox): Promise<number> {
  const aborted = untilAborted(signals.interrupted);
  const server = await Promise.race([connect(plan.settings), aborted]);
  try {
    const semaphore = await Promise.race([open(server, plan), aborted]);
    try {
      const handle = await take(semaphore, plan, signals.interrupted);
      return handle === null ? EXIT.ok : await runWith(handle, plan, signals);
    } finally {
      await semaphore.close();
    }
  } finally {
    server.disconnect();
  }
}

/** With the limit that counts, lest more permits than the default limit are refused where there are enough. */
async function open(server: Server, plan: RunPlan): Promise<Semaphore> {
  const { name, prefix, label, ttl } = plan;
  const options = { prefix, label, ...(ttl !== undefined && { ttl }) };
  const make = (limit: number): Semaphore =>
    usageOf(() => new Semaphore(server.target, name, { ...options, limit }));
  await using probe = make(plan.limit);
  const stored = (await probe.inspect()).limit;
  const semaphore = make(stored);
  if (!plan.quiet) semaphore.on('warning', ({ message }) => complain(`warning: ${message}`));
  return semaphore;
}

/** Null: there is none, and that is all right. */
async function take(
  semaphore: Semaphore,
  { timeout, permits, skipIfBusy, conflictCode }: RunPlan,
  signal: AbortSignal,
): Promise<Handle | null> {
  if (permits > semaphore.limit) {
    const message = `--permits: expected at most the limit, ${semaphore.limit}, got ${permits}`;
    throw new Failure(EXIT.usage, message);
  }
  signal.throwIfAborted();
  if (skipIfBusy) return semaphore.tryAcquire({ permits });
  try {
    return await semaphore.acquire({ permits, signal, ...(timeout !== undefined && { timeout }) });
  } catch (error) {
    if (!(error instanceof AcquireTimeoutError)) throw error;
    if (error.cause === undefined) throw new Failure(conflictCode, error.message, error);
    throw new UnavailableError(error.message, error);
  }
}

async function runWith(handle: Handle, plan: RunPlan, signals: SignalInbox): Promise<number> {
  try {
    signals.interrupted.throwIfAborted();
    handle.assertHeld();
    const child = await Child.start(plan.command, environmentOf(handle));
    const code = await supervise(child, handle, plan.killAfter, signals);
    if ((await giveBack(handle)) || code !== 0) return code;
    complain('the permit was lost before the command had ended');
    return EXIT.lost;
  } catch (error) {
    await giveBack(handle);
    if (!(error instanceof HandleLostError)) throw error;
    throw new Failure(EXIT.lost, error.message, error);
  }
}

/** Waits for the end of the command; resolves with the exit code. */
async function supervise(
  child: Child,
  handle: Handle,
  killAfter: number,
  signals: SignalInbox,
): Promise<number> {
  signals.listen({
    onSignal: (signal) => child.pass(signal),
    onStop: () => child.pause(),
    onContinue: () => child.resume(),
  });
  // One that came while it was being started.
  if (signals.interruptedBy !== undefined) child.pass(signals.interruptedBy);
  let terminated: Promise<void> | undefined;
  handle.on('lost', ({ message }) => {
    complain(`${message}; ending the command`);
    terminated = child.terminate(killAfter);
  });
  const ending = await child.ended;
  // What it has left behind on purpose may stay.
  if (terminated === undefined) handle.removeAllListeners('lost');
  // What the command started may end later than the command.
  await terminated;
  signals.stopListening();
  return terminated === undefined ? codeOf(ending) : EXIT.lost;
}

/** False when the permit had been lost. */
async function giveBack(handle: Handle): Promise<boolean> {
  try {
    return await handle.release();
  } catch (error) {
    complain(`warning: the permit comes back only when its ttl is over: ${describe(error)}`);
    return true;
  }
}

function environmentOf({ name, slot, slots, fencingToken }: Handle): NodeJS.ProcessEnv {
  return {
    ...process.env,
    REDSEM_NAME: name,
    REDSEM_SLOT: String(slot),
    REDSEM_SLOTS: slots.join(','),
    REDSEM_FENCING_TOKEN: String(fencingToken),
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
  });
  // Later on nobody may wait for it any more.
  aborted.catch(() => undefined);
  return aborted;
}
