import { once } from 'node:events';
import { quoted } from '../../arguments/shown.js';
import { AcquireTimeoutError, type Handle, HandleLostError, Semaphore } from '../../index.js';
import { Child, signalCode, type SignalInbox } from '../child/child.js';
import type { Server } from '../clients.js';
import { connect } from '../connect.js';
import { describe, EXIT, Failure, UsageError, usageOf } from '../failure.js';
import { complain, report } from '../output.js';
import { COMMAND_TIME, withTimeout } from '../with-timeout.js';
import type { RunPlan } from './run-plan.js';
import { noteWaiting } from './waiting-note.js';

/** How long the program waits for the close when its outcome is known, in milliseconds. */
const CLOSE_TIME = 300;

/** Waits for a permit and runs the command with it; resolves with the exit code. */
export async function runWithPermit(plan: RunPlan, signals: SignalInbox): Promise<number> {
  const left = countdown(plan.timeout);
  const aborted = once(signals.interrupted, 'abort').then((): never => {
    throw new Error('interrupted');
  });
  let semaphore: Semaphore | undefined;
  try {
    const server = await Promise.race([connect(plan.settings, left()), aborted]);
    semaphore = await Promise.race([open(server, plan, left()), aborted]);
    const handle = await take(semaphore, plan, left(), signals.interrupted);
    return handle === null ? EXIT.ok : await runHolding(handle, plan, signals);
  } catch (error) {
    // Before the semaphore is closed, because the close may take a while.
    return await tell(error, signals);
  } finally {
    const closed = semaphore?.close() ?? Promise.resolve();
    await withTimeout(CLOSE_TIME, 'closing', closed).catch(() => undefined);
  }
}

/**
 * Milliseconds left of a timeout that runs from now on: connecting counts. A timeout of 0 is one
 * try; its calls have their own time limits.
 */
function countdown(timeout = Infinity): () => number {
  const end = performance.now() + timeout;
  return () => (timeout === 0 ? Infinity : Math.max(1, Math.ceil(end - performance.now())));
}

/** Reports an error, unless a signal has ended the wait; resolves with the exit code. */
async function tell(error: unknown, { interruptedBy }: SignalInbox): Promise<number> {
  return interruptedBy === undefined ? report(error) : signalCode(interruptedBy);
}

async function open({ target }: Server, plan: RunPlan, left: number): Promise<Semaphore> {
  const { name, options, hasLimit, permits, quiet } = plan;
  let semaphore = usageOf(() => new Semaphore(target, name, options));
  // The object gets the limit that counts, because it refuses more permits than its own limit.
  if (permits > 1) {
    const { limit } = await withTimeout(COMMAND_TIME, 'inspecting', semaphore.inspect(), left);
    semaphore = new Semaphore(target, name, { ...options, limit: Math.max(1, limit) });
  }
  if (!quiet) {
    semaphore.on('warning', ({ code, message }) => {
      // Without --limit the user expects no limit.
      if (code !== 'STORED_LIMIT' || hasLimit) complain(`warning: ${message}`);
    });
  }
  return semaphore;
}

/** Null: no permit is free, and --skip-if-busy is given. */
async function take(
  semaphore: Semaphore,
  { name, timeout, permits, cost, skipIfBusy, conflictCode, quiet }: RunPlan,
  left: number,
  signal: AbortSignal,
): Promise<Handle | null> {
  signal.throwIfAborted();
  const options = { permits, cost, signal, timeout: Math.min(timeout ?? Infinity, left) };
  const note = quiet ? undefined : noteWaiting(semaphore);
  try {
    if (skipIfBusy) return await semaphore.tryAcquire({ permits, cost });
    return await semaphore.acquire({ ...options, onWaiting: note?.onWaiting });
  } catch (error) {
    // The message begins with the library's name of the option.
    if (error instanceof RangeError) throw new UsageError(`--${error.message}`);
    if (!(error instanceof AcquireTimeoutError)) throw error;
    const message = `no permit of ${quoted(name)} came free within ${timeout} ms`;
    if (error.cause === undefined) throw new Failure(conflictCode, message, error);
    const why = `${message}; last error: ${describe(error.cause)}`;
    throw new Failure(EXIT.unavailable, why, error);
  } finally {
    note?.stop();
  }
}

async function runHolding(handle: Handle, plan: RunPlan, signals: SignalInbox): Promise<number> {
  let code: number;
  try {
    signals.interrupted.throwIfAborted();
    handle.assertHeld();
    const child = await Child.start(plan.command, environmentOf(handle), plan.inherited);
    code = await supervise(child, handle, plan.killAfter, signals);
  } catch (error) {
    const isLost = error instanceof HandleLostError;
    code = await tell(isLost ? new Failure(EXIT.lost, error.message, error) : error, signals);
  }
  if ((await giveBack(handle)) || code !== 0) return code;
  complain('the permit was lost before the command had ended');
  return EXIT.lost;
}

/** Waits for the end of the command; resolves with the exit code. */
async function supervise(
  child: Child,
  handle: Handle,
  killAfter: number,
  signals: SignalInbox,
): Promise<number> {
  signals.listener = child;
  // A signal may have come while the command was started.
  if (signals.interruptedBy !== undefined) child.pass(signals.interruptedBy);
  let terminated: Promise<void> | undefined;
  handle.on('lost', ({ message }) => {
    complain(`${message}; ending the command`);
    terminated = child.terminate(killAfter);
  });
  const code = await child.ended;
  // Processes that the command left behind on purpose may stay.
  if (terminated === undefined) handle.removeAllListeners('lost');
  // Processes that the command started may end later than the command.
  await terminated;
  signals.listener = undefined;
  return terminated === undefined ? code : EXIT.lost;
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

/**
 * How long the program waits for the reply to a release, in milliseconds. The server may still read
 * the release later.
 */
const RELEASE_TIME = 600;

/** How early a timer may fire, in milliseconds. */
const EARLY = 2;

/** False when the permit was lost before the release. */
async function giveBack(handle: Handle): Promise<boolean> {
  const began = performance.now();
  const certain = handle.expiresIn;
  try {
    if (await withTimeout(RELEASE_TIME, 'releasing', handle.release())) return true;
  } catch (error) {
    warnOfDelay(describe(error));
    return true;
  }
  if (certain === 0 || performance.now() - began < certain - EARLY) return false;
  // The lease ran out while the server was silent, so after the work.
  warnOfDelay('releasing: no answer while its lease lasted');
  return true;
}

function warnOfDelay(why: string): void {
  complain(`warning: the permit may be free only when its ttl is over: ${why}`);
}
