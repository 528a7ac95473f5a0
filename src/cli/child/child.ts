import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { codeOfError, describe, EXIT, Failure } from '../failure.js';
import { withSoftLimit } from './open-files.js';
import { groupTarget, isInForeground, type SignalTarget, treeTarget } from './processes.js';

/** How often the program checks whether a terminated command still runs, in milliseconds. */
const LOOK_EVERY = 50;

/** The resources of a command beside its environment, stdin, stdout and stderr. */
export interface Inherited {
  /** File descriptors from 3 on. */
  readonly descriptors: readonly number[];
  /** The soft limit on open files. */
  readonly softLimit: number | undefined;
}

/**
 * A running command. With a terminal it stays in the process group that the terminal knows. Without
 * a terminal it gets a separate group, so that signals reach all processes that it starts.
 */
export class Child {
  /** Resolves with the exit code as in a shell: 128 + number for a signal. */
  readonly ended: Promise<number>;
  readonly #onTerminal: boolean;
  readonly #target: SignalTarget;

  private constructor(pid: number, onTerminal: boolean, ended: Promise<number>) {
    this.#onTerminal = onTerminal;
    this.#target = onTerminal ? treeTarget(pid) : groupTarget(pid);
    this.ended = ended;
  }

  /**
   * Starts a command with the stdin, stdout and stderr of this program.
   * @throws {Failure} with exit code 127 when it is not found, 126 when it cannot be run
   */
  static async start(
    command: readonly string[],
    env: NodeJS.ProcessEnv,
    { descriptors, softLimit }: Inherited,
  ): Promise<Child> {
    const onTerminal = [0, 1, 2].some((fd) => isatty(fd));
    const [program = '', ...args] = withSoftLimit(command, softLimit);
    try {
      const stdio = stdioOf(descriptors);
      const child = spawn(program, args, { stdio, detached: !onTerminal, env });
      if (child.pid === undefined) throw (await once(child, 'error'))[0];
      const ended = new Promise<number>((resolve) => {
        child.once('exit', (code, signal) => {
          resolve(signal === null ? (code ?? 0) : signalCode(signal));
        });
      });
      // Without an await: the caller must pass on signals from the start of the command on.
      return new Child(child.pid, onTerminal, ended);
    } catch (error) {
      throw cannotRun(command[0] ?? '', error);
    }
  }

  /** Passes on a signal to the command. */
  pass(signal: NodeJS.Signals): void {
    const fromKeyboard = signal === 'SIGINT' || signal === 'SIGQUIT';
    // The terminal has sent the signal to the whole group already.
    if (this.#onTerminal && fromKeyboard && isInForeground()) return;
    this.#target.send(signal);
  }

  /** Stops the command and this program, which extends the permit. On a terminal the shell does. */
  pause(): void {
    if (!this.#onTerminal) this.#target.send('SIGSTOP');
    process.kill(process.pid, 'SIGSTOP');
  }

  resume(): void {
    if (!this.#onTerminal) this.#target.send('SIGCONT');
  }

  /**
   * Sends SIGTERM, and SIGKILL to processes that still run `killAfter` milliseconds later. Resolves
   * when all processes of the command have ended.
   */
  async terminate(killAfter: number): Promise<void> {
    this.#target.send('SIGTERM');
    // A stopped process gets SIGTERM only when it continues.
    this.#target.send('SIGCONT');
    const deadline = performance.now() + killAfter;
    while (this.#target.isAlive()) {
      const left = deadline - performance.now();
      if (left <= 0) return this.#target.send('SIGKILL');
      await sleep(Math.min(left, LOOK_EVERY));
    }
  }
}

export function signalCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Each descriptor has the same number in the command. */
function stdioOf(descriptors: readonly number[]): ('inherit' | 'ignore' | number)[] {
  return Array.from({ length: Math.max(2, ...descriptors) + 1 }, (_, fd) => {
    if (fd < 3) return 'inherit';
    return descriptors.includes(fd) ? fd : 'ignore';
  });
}

function cannotRun(program: string, error: unknown): Failure {
  const code = codeOfError(error);
  if (code === 'ENOENT') {
    return new Failure(EXIT.notFound, `${program}: command not found`, error);
  }
  const why = code === 'EACCES' ? 'permission denied' : describe(error);
  return new Failure(EXIT.cannotRun, `${program}: ${why}`, error);
}

/** Signals that end a program by default; the command of `run` gets them instead. */
const PASSED = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const;

/** Catches signals from the start on. Without a command, the first signal ends the wait. */
export class SignalInbox {
  /** The command, while it runs. */
  listener: Child | undefined;
  /** The signal that aborted `interrupted`. */
  interruptedBy: NodeJS.Signals | undefined;
  readonly #interrupt = new AbortController();
  /** Aborts with the first signal that comes without a command. */
  readonly interrupted: AbortSignal = this.#interrupt.signal;
  readonly #handlers: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ...PASSED.map((signal) => [signal, () => this.#onSignal(signal)] as const),
    // Listens before there is a command, because a signal may come while it starts.
    ['SIGTSTP', () => this.#onStop()],
    ['SIGCONT', () => this.listener?.resume()],
  ];

  constructor() {
    for (const [signal, handler] of this.#handlers) process.on(signal, handler);
  }

  close(): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
  }

  #onStop(): void {
    if (this.listener !== undefined) this.listener.pause();
    else process.kill(process.pid, 'SIGSTOP');
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (this.listener !== undefined) return this.listener.pass(signal);
    // A second signal: the user does not wait for the release.
    if (this.interruptedBy !== undefined) process.exit(signalCode(signal));
    this.interruptedBy = signal;
    this.#interrupt.abort(new Error(`interrupted by ${signal}`));
  }
}
