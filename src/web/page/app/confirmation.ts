import { byId, setText } from './dom.js';

export interface Question {
  readonly title: string;
  /** What will happen; a number for the limit may change it. */
  readonly effects: (limit: number) => readonly string[];
  readonly button: string;
  readonly isDangerous?: boolean;
  /** Asks for a limit too, with this to start from. */
  readonly limit?: number;
  /** Does it; gives what to say afterwards. */
  readonly act: (limit: number) => Promise<string>;
}

/** The one dialog of all changes: nothing is changed without it. */
export class Confirmation {
  readonly #dialog = byId('confirm') as HTMLDialogElement;
  readonly #input = byId('confirm-limit') as HTMLInputElement;
  readonly #yes = byId('confirm-yes') as HTMLButtonElement;
  #question: Question | undefined;

  constructor() {
    byId('confirm-no').addEventListener('click', () => this.#dialog.close());
    byId('confirm-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#act();
    });
    this.#input.addEventListener('input', () => this.#explain());
    this.#dialog.addEventListener('click', (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
  }

  ask(question: Question): void {
    this.#question = question;
    setText(byId('confirm-title'), question.title);
    setText(byId('confirm-error'), '');
    byId('confirm-limit-field').hidden = question.limit === undefined;
    this.#input.disabled = question.limit === undefined;
    this.#input.value = String(question.limit ?? 0);
    setText(this.#yes, question.button);
    this.#yes.disabled = false;
    this.#yes.classList.toggle('danger', question.isDangerous === true);
    this.#explain();
    this.#dialog.showModal();
    if (question.limit === undefined) byId('confirm-no').focus();
    else this.#input.select();
  }

  #limit(): number {
    return this.#input.validity.valid ? Number(this.#input.value) : Number.NaN;
  }

  #explain(): void {
    const limit = this.#limit();
    const effects = Number.isNaN(limit) ? [] : (this.#question?.effects(limit) ?? []);
    const items = effects.map((effect) => {
      const item = document.createElement('li');
      item.textContent = effect;
      return item;
    });
    byId('confirm-effects').replaceChildren(...items);
  }

  async #act(): Promise<void> {
    const question = this.#question;
    if (question === undefined) return;
    this.#yes.disabled = true;
    try {
      const done = await question.act(this.#limit());
      if (question !== this.#question) return;
      this.#dialog.close();
      notify(done);
    } catch (error) {
      if (question !== this.#question) return;
      setText(byId('confirm-error'), error instanceof Error ? error.message : String(error));
      this.#yes.disabled = false;
    }
  }
}

let timer = 0;

/** Says what was done, for a few seconds. */
function notify(text: string): void {
  const note = byId('note');
  setText(note, text);
  clearTimeout(timer);
  timer = setTimeout(() => setText(note, ''), 6000);
}
