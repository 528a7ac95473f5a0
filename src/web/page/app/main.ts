import { closeFromOutside, notify } from './confirmation.js';
import { DetailPage } from './detail-page.js';
import { byId } from './dom.js';
import { Feed } from './feed.js';
import { LinkStatus } from './link-status.js';
import { ListPage } from './list-page.js';
import { addressOf, currentName } from './route.js';
import { hasToken, keepToken } from './requests.js';

/** A hidden page closes its connection after this time: browsers have six for a server. */
const HIDDEN_MS = 10_000;

const list = new ListPage();
const detail = new DetailPage();
const status = new LinkStatus();
let name: string | undefined;
let wantsFilter = false;

const feed = new Feed({
  opened: () => status.set('open'),
  list: (snapshot) => {
    status.received(snapshot.at, snapshot.server);
    document.body.classList.toggle('read-only', !snapshot.actions);
    list.show(snapshot);
  },
  detail: (state) => {
    status.received(state.at, state.server);
    if (state.row.name === name) detail.show(state);
  },
  lost: (reason) => status.set('lost', reason),
  locked: () => {
    status.set('locked');
    byId('lock-wrong').hidden = !hasToken();
    byId('token').focus();
  },
});

function navigate(): void {
  const before = name;
  name = currentName();
  document.title = name === undefined ? 'redsem' : `${name} · redsem`;
  notify('');
  detail.open(name);
  list.setVisible(name === undefined);
  if (wantsFilter) list.focusFilter();
  else if (name === undefined && before !== undefined) list.focusRow(before);
  wantsFilter = false;
  feed.watch(name);
}

byId('lock-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = byId('token') as HTMLInputElement;
  keepToken(field.value.trim());
  field.value = '';
  feed.watch(name);
});

const help = byId('help') as HTMLDialogElement;
byId('help-button').addEventListener('click', () => help.showModal());
byId('help-close').addEventListener('click', () => help.close());
closeFromOutside(help);

/** Keys that work everywhere except in a field or a dialog. */
const shortcuts: Readonly<Record<string, () => void>> = {
  '?': () => help.showModal(),
  '/': () => {
    wantsFilter = name !== undefined;
    if (wantsFilter) location.hash = addressOf();
    else list.focusFilter();
  },
  l: () => detail.setLimit(),
  p: () => detail.pause(),
};

function leave(): void {
  if (name !== undefined) location.hash = addressOf();
  else if (!list.clearFilter() && document.activeElement instanceof HTMLElement) {
    document.activeElement.blur();
  }
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector('dialog[open]') !== null) return;
  if (event.key === 'Escape') return leave();
  const shortcut = shortcuts[event.key];
  if (shortcut === undefined || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  shortcut();
});

let hiddenTimer = 0;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(() => feed.stop(), HIDDEN_MS);
  else feed.watch(name);
});
addEventListener('online', () => feed.watch(name));
addEventListener('hashchange', navigate);
navigate();
