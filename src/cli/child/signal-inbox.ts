import { signalCode } from './child.js';

/** Signals that end a program unless it says otherwise; the command of `run` gets them instead. */
const PASSED = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const;

/** What gets the signals while a command runs. */
export interface SignalListener {
  pass(signal: NodeJS.Signals): void;
  /** SIGTSTP. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
}

/** Catches signals from the start on: without a listener, the first ends the wait for a permit. */
export class SignalInbox {
  /** The command, from its start to its end. */
  listener: SignalListener | undefined;
  readonly #interrupt = new AbortController();
  readonly #handlers: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ...PASSED.map((signal) => [signal, () => this.#onSignal(signal)] as const),
    // Before there is a command, because a signal may come while it starts.
    ['SIGTSTP', () => this.#onStop()],
    ['SIGCONT', () => this.listener?.resume()],
  ];
  #first: NodeJS.Signals | undefined;

  constructor() {
    for (const [signal, handler] of this.#handlers) process.on(signal, handler);
  }

  /** Aborts with the first signal that comes without a listener. */
  get interrupted(): AbortSignal {
    return this.#interrupt.signal;
  }

  /** The signal that did. */
  get interruptedBy(): NodeJS.Signals | undefined {
    return this.#first;
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
    // Impatient: even giving back takes too long.
    if (this.#first !== undefined) process.exit(signalCode(signal));
    this.#first = signal;
    this.#interrupt.abort(new Error(`interrupted by ${signal}`));
  }
}
