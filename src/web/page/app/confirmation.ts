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
    notify('');
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

  /** The numbers have changed while somebody thinks about it. */
  update(effects: Question['effects']): void {
    if (!this.#dialog.open || this.#question === undefined) return;
    this.#question = { ...this.#question, effects };
    this.#explain();
  }

  #limit(): number {
    return this.#input.validity.valid ? Number(this.#input.value) : Number.NaN;
  }

  #explain(): void {
    const limit = this.#limit();
    const effects = Number.isNaN(limit) ? [] : (this.#question?.effects(limit) ?? []);
    const list = byId('confirm-effects');
    if (effects.join('\n') === [...list.children].map((item) => item.textContent).join('\n'))
      return;
    const items = effects.map((effect) => {
      const item = document.createElement('li');
      item.textContent = effect;
      return item;
    });
    list.replaceChildren(...items);
  }

  async #act(): Promise<void> {
    const act = this.#question?.act;
    if (act === undefined) return;
    this.#yes.disabled = true;
    try {
      const done = await act(this.#limit());
      if (act !== this.#question?.act) return;
      this.#dialog.close();
      notify(done);
    } catch (error) {
      if (act !== this.#question?.act) return;
      setText(byId('confirm-error'), error instanceof Error ? error.message : String(error));
      this.#yes.disabled = false;
    }
  }
}

/** Says what was done, until something else is. */
export function notify(text: string): void {
  setText(byId('note'), text);
}
