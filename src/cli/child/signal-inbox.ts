import { signalCode } from './child.js';

/** Signals that end a program unless it says otherwise; the command of `run` gets them instead. */
const PASSED = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const;

/** What becomes of signals while a command runs. */
export interface SignalListener {
  onSignal(signal: NodeJS.Signals): void;
  /** SIGTSTP. */
  onStop(): void;
  /** SIGCONT. */
  onContinue(): void;
}

/**
 * Catches signals from the start on: until somebody listens, the first one ends the wait for a
 * permit.
 */
export class SignalInbox {
  readonly #interrupt = new AbortController();
  readonly #handlers = new Map<NodeJS.Signals, () => void>();
  #listener: SignalListener | undefined;
  #first: NodeJS.Signals | undefined;

  constructor() {
    for (const signal of PASSED) this.#handle(signal, () => this.#onSignal(signal));
    // Before there is a command, because a signal may come while it starts.
    this.#handle('SIGTSTP', () => this.#onStop());
    this.#handle('SIGCONT', () => this.#listener?.onContinue());
  }

  /** Aborts with the first signal that comes while nobody listens. */
  get interrupted(): AbortSignal {
    return this.#interrupt.signal;
  }

  /** The signal that did. */
  get interruptedBy(): NodeJS.Signals | undefined {
    return this.#first;
  }

  listen(listener: SignalListener): void {
    this.#listener = listener;
  }

  /** The command has ended: from now on the second signal ends this program at once. */
  stopListening(): void {
    this.#listener = undefined;
  }

  close(): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
    this.#handlers.clear();
  }

  #handle(signal: NodeJS.Signals, handler: () => void): void {
    this.#handlers.set(signal, handler);
    process.on(signal, handler);
  }

  #onStop(): void {
    if (this.#listener !== undefined) this.#listener.onStop();
    else process.kill(process.pid, 'SIGSTOP');
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (this.#listener !== undefined) return this.#listener.onSignal(signal);
    // Impatient: even giving back takes too long.
    if (this.#first !== undefined) process.exit(signalCode(signal));
    this.#first = signal;
    this.#interrupt.abort(new Error(`interrupted by ${signal}`));
  }
}
