import { closeFromOutside } from './confirmation.js';
import { byId } from './dom.js';

export interface Shortcuts {
  /** By the key. */
  readonly keys: Readonly<Record<string, () => void>>;
  readonly escape: () => void;
}

/** Keys that work anywhere but in a field or a dialog. */
export function listenForShortcuts({ keys, escape }: Shortcuts): void {
  const help = byId('help') as HTMLDialogElement;
  const showHelp = (): void => help.showModal();
  byId('help-button').addEventListener('click', showHelp);
  byId('help-close').addEventListener('click', () => help.close());
  closeFromOutside(help);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector('dialog[open]') !== null) return;
    if (event.key === 'Escape') return escape();
    if (event.target instanceof HTMLInputElement) return;
    const action = event.key === '?' ? showHelp : keys[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}
