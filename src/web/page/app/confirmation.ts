import type { Detail } from '../../api-types.js';
import { byId, element, setText } from './dom.js';

export interface Question {
  readonly title: string;
  /** The effects of the change, for this limit. */
  readonly effects: (limit: number) => readonly string[];
  readonly button: string;
  readonly isDangerous?: boolean;
  /** The limit that the field shows first; left out: the question has no field. */
  readonly limit?: number;
  /** Makes the change, and gives the message to show afterwards. */
  readonly act: (limit: number) => Promise<string>;
}

/** The dialog of all changes: no change happens without it. */
export class Confirmation {
  readonly #dialog = byId('confirm') as HTMLDialogElement;
  readonly #input = byId('confirm-limit') as HTMLInputElement;
  readonly #yes = byId('confirm-yes') as HTMLButtonElement;
  #question: Question | undefined;
  /** Makes the question from the latest numbers. */
  #ofNow: ((detail: Detail) => Question) | undefined;

  constructor() {
    byId('confirm-no').addEventListener('click', () => this.#dialog.close());
    byId('confirm-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#act();
    });
    this.#input.addEventListener('input', () => this.#explain());
    closeFromOutside(this.#dialog);
  }

  ask(question: (detail: Detail) => Question, detail: Detail): void {
    const { title, limit, button, isDangerous } = (this.#question = question(detail));
    this.#ofNow = question;
    notify('');
    setText(byId('confirm-title'), title);
    setText(byId('confirm-error'), '');
    byId('confirm-limit-field').hidden = limit === undefined;
    this.#input.disabled = limit === undefined;
    this.#input.value = String(limit ?? 0);
    setText(this.#yes, button);
    this.#yes.disabled = false;
    this.#yes.classList.toggle('danger', isDangerous === true);
    this.#explain();
    this.#dialog.showModal();
    if (limit === undefined) byId('confirm-no').focus();
    else this.#input.select();
  }

  /** The numbers have changed, perhaps while the user reads the question. */
  update(detail: Detail): void {
    if (!this.#dialog.open) return;
    this.#question = this.#ofNow?.(detail);
    this.#explain();
  }

  close(): void {
    this.#dialog.close();
  }

  #explain(): void {
    const effects = this.#input.validity.valid
      ? this.#question?.effects(this.#input.valueAsNumber)
      : [];
    const items = (effects ?? []).map((text) => element('li', {}, text));
    byId('confirm-effects').replaceChildren(...items);
  }

  async #act(): Promise<void> {
    const asked = this.#ofNow;
    this.#yes.disabled = true;
    try {
      const done = await this.#question?.act(this.#input.valueAsNumber);
      if (asked !== this.#ofNow) return;
      this.#dialog.close();
      notify(done ?? '');
    } catch (error) {
      if (asked !== this.#ofNow) return;
      setText(byId('confirm-error'), error instanceof Error ? error.message : String(error));
      this.#yes.disabled = false;
    }
  }
}

/** A click beside a dialog closes it. */
export function closeFromOutside(dialog: HTMLDialogElement): void {
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close();
  });
}

/** Shows a message, until the next message. */
export function notify(text: string): void {
  setText(byId('note'), text);
}
