import { describe } from '../failure.js';
import type { Operator } from '../operator.js';
import { frame } from './frame.js';
import type { Key } from './keys.js';
import { keysIn } from './keys.js';
import type { Screen } from './screen.js';
import type { View } from './view.js';
import { sortedHolders, sortedSemaphores } from './view.js';
import type { Watcher } from './watcher.js';

/** A question that waits for y or n. */
interface Question {
  readonly text: string;
  readonly onYes: () => Promise<string>;
}

/** The full-screen view: what the keys do. */
export class FullScreen {
  readonly #operator: Operator;
  readonly #watcher: Watcher;
  readonly #screen: Screen;
  readonly #interval: number;
  #name: string | undefined;
  #order = 0;
  #selected = 0;
  #question: Question | undefined;
  #message: string | undefined;
  #looking = false;
  #timer: NodeJS.Timeout | undefined;
  #end: () => void = () => undefined;

  /** @param interval milliseconds between two looks */
  constructor(operator: Operator, watcher: Watcher, screen: Screen, interval: number) {
    this.#operator = operator;
    this.#watcher = watcher;
    this.#screen = screen;
    this.#interval = interval;
  }

  /** Resolves when the user quits. */
  async run(name: string | undefined): Promise<void> {
    this.#name = name;
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    const onKeys = (text: string): void => {
      for (const key of keysIn(text)) this.#onKey(key);
    };
    this.#screen.open(onKeys, () => this.#draw());
    void this.#look();
    await ended;
    clearTimeout(this.#timer);
    this.#screen.close();
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#looking) return;
    this.#looking = true;
    const name = this.#name;
    await this.#watcher.look(name);
    this.#looking = false;
    this.#draw();
    // The user has gone elsewhere meanwhile: that is looked at now.
    const pause = name === this.#name ? this.#interval : 0;
    this.#timer = setTimeout(() => void this.#look(), pause);
  }

  #draw(): void {
    this.#selected = Math.max(0, Math.min(this.#selected, this.#rowCount() - 1));
    this.#screen.show(frame(this.#view(), this.#screen.size));
  }

  #view(): View {
    const { watched, trouble } = this.#watcher;
    const name = this.#name;
    return {
      name,
      watched:
        name === undefined ? watched : watched.filter(({ summary }) => summary.name === name),
      order: this.#order,
      selected: this.#selected,
      message: this.#question?.text ?? this.#message,
      trouble,
      now: performance.now(),
    };
  }

  #rowCount(): number {
    const { name, watched } = this.#view();
    return name === undefined ? watched.length : (watched[0]?.summary.holders.length ?? 0);
  }

  #onKey(key: Key): void {
    if (key === 'quit') return this.#end();
    if (this.#question !== undefined) this.#answer(this.#question, key);
    else {
      this.#message = undefined;
      this.#act(key);
    }
    this.#draw();
  }

  #act(key: Key): void {
    if (key === 'up') this.#selected -= 1;
    else if (key === 'down') this.#selected += 1;
    else if (key === 'sort') this.#order += 1;
    else if (key === 'enter') this.#open();
    else if (key === 'escape') this.#goTo(undefined);
    else if (key === 'revoke') this.#askToRevoke();
  }

  #open(): void {
    const view = this.#view();
    const chosen = sortedSemaphores(view)[this.#selected];
    if (view.name === undefined && chosen !== undefined) this.#goTo(chosen.summary.name);
  }

  #goTo(name: string | undefined): void {
    this.#name = name;
    this.#order = 0;
    this.#selected = 0;
    void this.#look();
  }

  #askToRevoke(): void {
    const view = this.#view();
    const summary = view.name === undefined ? undefined : view.watched[0]?.summary;
    const holder = summary && sortedHolders(summary, view)[this.#selected];
    if (summary === undefined || holder === undefined) return;
    this.#question = {
      text: `Take ticket ${holder.id} from ${holder.label}? y/N`,
      onYes: async () => {
        const revoked = await this.#operator.revoke(summary.name, holder.id);
        return revoked ? `revoked ${holder.id}` : `${holder.id} was gone already`;
      },
    };
  }

  #answer({ onYes }: Question, key: Key): void {
    this.#question = undefined;
    if (key !== 'yes') return;
    const tell = (message: string): void => {
      this.#message = message;
      void this.#look();
    };
    onYes().then(tell, (error: unknown) => tell(describe(error)));
  }
}
