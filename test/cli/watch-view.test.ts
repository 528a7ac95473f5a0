import { expect } from 'chai';
import { createStubInstance, useFakeTimers } from 'sinon';
import type { Semaphore } from '../../src/index.js';
import { NO_LIMIT } from '../../src/backends/protocol.js';
import type { SemaphoreSummary, Unreadable } from '../../src/cli/operator.js';
import { Operator } from '../../src/cli/operator.js';
import { type Line, plainText, type Style, widthOf } from '../../src/cli/style.js';
import { FullScreen } from '../../src/cli/watch/full-screen.js';
import { Screen } from '../../src/cli/watch/screen.js';
import type { Looks } from '../../src/cli/watch/view.js';
import type { HistoryPoint } from '../../src/sampler/history.js';
import { WatchedSemaphore } from '../../src/sampler/watched-semaphore.js';

const [UP, DOWN, ENTER, ESCAPE] = ['\u001b[A', '\u001b[B', '\r', '\u001b'];

/** The result of a look at a semaphore. */
function summaryOf(
  name: string,
  limit: number | null,
  held: number,
  waiting = 0,
): SemaphoreSummary {
  const holders = Array.from({ length: held }, (_, i) => ({
    id: `${name}.${i}`,
    slots: [i],
    fencingToken: 1000 + i,
    expiresIn: 24_000 + 100 * (held - i),
    heldFor: 1000 + 137 * i,
    label: `holder ${(i * 7) % held}`,
  }));
  const waiters = Array.from({ length: waiting }, (_, position) => ({
    id: `w.${position}`,
    permits: 1 + (position % 3),
    position,
    waitingFor: 12_000 - 400 * position,
    priority: 0,
    group: '',
    weight: 1,
    label: `waiter ${position}`,
  }));
  return { name, limit, held, waiting, holders, waiters };
}

/** A sampler that looks when the test asks for it, and when a viewer begins to watch. */
class FakeLooks implements Looks {
  summaries: readonly (SemaphoreSummary | Unreadable)[] = [];
  reachable = true;
  trouble: string | undefined;
  lastOkAt: number | undefined;
  watched: (string | undefined)[] = [];
  steps: HistoryPoint[] = [];
  readonly #clock: { readonly now: number };
  #onLook: () => void = () => undefined;

  constructor(clock: { readonly now: number }) {
    this.#clock = clock;
  }

  get semaphores(): WatchedSemaphore[] {
    return this.summaries.map(asSeen);
  }

  semaphore(name: string): WatchedSemaphore | undefined {
    return this.semaphores.find((each) => each.name === name);
  }

  history(): readonly HistoryPoint[] {
    return this.steps;
  }

  rate(): number {
    return 0;
  }

  watch(name: string | undefined, onLook: () => void): () => void {
    this.watched.push(name);
    this.#onLook = onLook;
    queueMicrotask(() => this.look());
    return () => undefined;
  }

  look(): void {
    if (this.reachable) this.lastOkAt = this.#clock.now;
    this.#onLook();
  }
}

function asSeen(summary: SemaphoreSummary | Unreadable): WatchedSemaphore {
  const semaphore = new WatchedSemaphore(summary.name);
  if ('error' in summary) semaphore.fail(summary.error, 0);
  else {
    const { limit, holders, waiters, ...counts } = summary;
    const limitFrom = limit === null ? 'options' : 'setLimit';
    const known = { limit: limit ?? 1, limitFrom, ...counts } as const;
    semaphore.seeDetail({ ...known, holders: [...holders], waiters: [...waiters] }, 0);
  }
  return semaphore;
}

/** The view without a terminal: its screen, and keys that a test presses. */
class View {
  /** Each change that was made, and the results of the next changes. */
  readonly made: unknown[] = [];
  results: unknown[] = [];
  readonly looks: FakeLooks;
  readonly ended: Promise<void>;
  connected = true;
  shown: readonly Line[] = [];
  size = { columns: 120, rows: 12 };
  press: (keys: string) => void = () => undefined;
  redraw: () => void = () => undefined;

  constructor(clock: { readonly now: number }, summaries: SemaphoreSummary[], name?: string) {
    this.looks = new FakeLooks(clock);
    this.looks.summaries = summaries;
    const operator = createStubInstance(Operator);
    Object.defineProperty(operator, 'connected', { get: () => this.connected });
    operator.change.callsFake((own, change) => change(this.#semaphore(own)));
    const screen = createStubInstance(Screen);
    Object.defineProperty(screen, 'size', { get: () => this.size });
    screen.open.callsFake((onKeys, onResize) => {
      [this.press, this.redraw] = [onKeys, onResize];
    });
    screen.show.callsFake((lines) => void (this.shown = lines));
    const settings = { interval: 1000, server: 'redis://server' };
    this.ended = new FullScreen(operator, this.looks, screen, settings).run(name);
  }

  #semaphore(name: string): Semaphore {
    const note = (kind: string) => async (value: unknown) => {
      this.made.push(`${kind} ${name} ${String(value)}`);
      const result = this.results.shift();
      if (result instanceof Error) throw result;
      return result;
    };
    const [setLimit, addPermits, revoke] = ['set', 'add', 'revoke'].map(note);
    return { setLimit, addPermits, revoke } as unknown as Semaphore;
  }

  get lines(): string[] {
    return this.shown.map(plainText);
  }

  get text(): string {
    return this.lines.join('\n');
  }

  get selected(): string[] {
    const isChosen = (line: Line) => line.some(({ style }) => style === 'chosen');
    return this.shown.filter(isChosen).map(plainText);
  }

  /** The styles of all texts like this. */
  stylesOf(text: RegExp): (Style | undefined)[] {
    return this.shown.flat().flatMap((span) => (text.test(span.text) ? [span.style] : []));
  }

  /** The next look finds these. */
  find(...summaries: (SemaphoreSummary | Unreadable)[]): void {
    this.looks.summaries = summaries;
    this.looks.look();
  }
}

describe('the full screen of redsem watch', () => {
  let clock: ReturnType<typeof useFakeTimers>;
  let view: View;

  beforeEach(() => {
    clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  });

  afterEach(async () => {
    view.press('\u0003');
    await view.ended;
    clock.restore();
  });

  /** Opens the view and lets it look once. */
  async function open(summaries: SemaphoreSummary[], name?: string): Promise<void> {
    view = new View(clock, summaries, name);
    await clock.tickAsync(0);
  }

  async function pressAndLook(keys: string): Promise<void> {
    view.press(keys);
    await clock.tickAsync(0);
  }

  it('moves the cursor no further than the rows, which stay in view with their count', async () => {
    await open([summaryOf('many', 300, 300, 50)], 'many');
    for (const [keys, row, shown] of [
      [UP, 0, '1-4 of 300'],
      [`${DOWN}jj`, 3, '2-5 of 300'],
      ['k', 2, '1-4 of 300'],
      ['\u001b[6~', 8, '7-10 of 300'],
      ['j'.repeat(242), 250, '249-252 of 300'],
      ['\u001b[5~G\u001b[H\u001b[4~', 349, '47-50 of 50'],
      ['k'.repeat(50), 299, '297-300 of 300'],
    ] as const) {
      view.press(keys);
      const end = row < 300 ? ` ${row} .*many\\.${row}` : `waiter ${row - 300} .* w\\.${row - 300}`;
      expect(view.selected.join(), keys).to.match(new RegExp(`${end}$`));
      expect(view.lines).to.have.length(12);
      expect(view.text).to.contain(shown);
    }
    view.size = { columns: 80, rows: 30 };
    view.redraw();
    expect(view.text).to.contain('waiter 0');
    expect(view.text).to.contain('ticket many.299 · token 1299 · slots 299');
    view.size.columns = 120;
    // The cursor stays on its ticket, wherever that goes; a ticket that ends leaves a sign.
    view.press('s');
    expect(view.selected[0]).to.match(/ many\.299$/);
    view.find(summaryOf('many', 3, 1));
    expect(view.selected[0]).to.match(/ 0 .* many\.0$/);
    expect(view.text).to.contain('the selected row has ended');
  });

  it('takes no key amiss where there is nothing yet, and shows new names and damaged ones', async () => {
    await open([]);
    await pressAndLook(`${ENTER}rylp${UP}${DOWN}s${ESCAPE}`);
    expect(view.text).to.contain('0 semaphores').and.to.contain('try: redsem run demo');
    view.find(summaryOf('new', null, 0), summaryOf('old', 2, 1), {
      name: 'hurt',
      error: 'WRONGTYPE',
    });
    const [, title, head, ...rows] = view.lines;
    expect(title).to.equal('2 semaphores · 0 waiting · 1 of 2 held · 0.0 grants/s');
    expect(head).to.match(/^NAME +HELD +WAITING +OLDEST +GRANTS\/S$/);
    expect(rows[1]).to.match(/^new +0\/\? +░ +0 +0\.0$/);
    expect(rows[0]).to.match(/^old +1\/2 +█░ +0 +0\.0$/);
    expect(view.text).to.match(/^"hurt" cannot be read: WRONGTYPE$/m);
    expect(view.made).to.deep.equal([]);
    // Beside one without a limit the sum of the others says nothing.
    view.find(summaryOf('free', NO_LIMIT, 3), summaryOf('old', 2, 1));
    expect(view.lines[1]).to.equal('2 semaphores · 0 waiting · 4 held · 0.0 grants/s');
  });

  it('shows by styles how full each semaphore is, and which ticket is extended no longer', async () => {
    const rows = [summaryOf('busy', 2, 2, 1), summaryOf('full', 2, 2), summaryOf('half', 2, 1)];
    await open([summaryOf('a', 1, 0), ...rows]);
    expect(view.selected.join()).to.match(/^a +0\/1/);
    expect(view.stylesOf(/^[█░]+/)).to.deep.equal(['alarm', 'warning', 'good']);
    const { holders, ...gpus } = summaryOf('gpus', 4, 3);
    await open([{ holders, ...gpus }], 'gpus');
    expect(view.stylesOf(/^2\ds/)).to.deep.equal([undefined, undefined]);
    view.find({ ...gpus, holders: holders.map((one, i) => ({ ...one, expiresIn: 6000 - i })) });
    expect(view.stylesOf(/^ *[65]s/)).to.deep.equal(['warning', 'warning']);
    view.connected = false;
    view.redraw();
    expect(view.stylesOf(/^not connected/)).to.deep.equal(['alarm']);
    expect(view.stylesOf(/^HOLDER/)).to.deep.equal(['faint']);
  });

  it('draws the last steps of a semaphore, each graph by its own scale', async () => {
    await open([summaryOf('gpus', 4, 1)], 'gpus');
    const step = { limit: 4, waitP50: null, waitP99: null };
    view.looks.steps = [0, 1, 2].map((i) => {
      return { ...step, t: -5000 * i, held: 4 - 2 * i, waiting: 8 * i, grantsPerSecond: 0.75 * i };
    });
    view.size = { columns: 80, rows: 24 };
    view.redraw();
    view.looks.look();
    expect(view.text)
      .to.match(/last 5m 5s$/m)
      .and.match(/^held +max +4 +▄█$/m)
      .and.match(/^waiting +max +16 +█▄$/m)
      .and.match(/^grants\/s +max 1\.5 +█▄$/m);
  });

  it('has orders and a filter, and opens the selected line', async () => {
    await open([summaryOf('b', 4, 1, 5), summaryOf('a', 4, 4), summaryOf('c', 4, 3, 9)]);
    /** The first character of each row, before each of a number of keys. */
    const orders = (count: number): string[] =>
      Array.from({ length: count }, () => {
        const rows = view.lines.flatMap(
          (text) => /^(?:holder )?([abc\d]) {2}/.exec(text)?.[1] ?? [],
        );
        view.press('s');
        return rows.join('');
      });
    expect(orders(4)).to.deep.equal(['abc', 'acb', 'cba', 'bca']);
    await pressAndLook(`ss${DOWN}${DOWN}${ENTER}`);
    expect(view.looks.watched).to.deep.equal([undefined, 'a']);
    expect(view.text).to.contain('a · 4 of 4').and.to.contain('s sort (slot)');
    expect(orders(4)).to.deep.equal(['0321', '1230', '1230', '0123']);
    view.press('/R 2');
    expect(view.text).to.contain('type what rows must contain').and.to.contain('filter: R 2');
    expect(orders(1)).to.deep.equal(['2']);
    // That was a letter of the filter.
    expect(view.text).to.contain('no holder or waiter contains R 2s');
    view.press(`\u007f${ENTER}`);
    expect(orders(1)).to.deep.equal(['2']);
    view.press(ESCAPE);
    expect(orders(1)[0]).to.have.length(4);
    // There is nothing further to open.
    await pressAndLook(ENTER);
    expect(view.text).to.contain('a · 4 of 4');
    await pressAndLook(ESCAPE);
    expect(view.text).to.contain('3 semaphores').and.to.contain('s sort (name)');
    view.press('?');
    expect(view.text).to.contain('change the limit');
    // In the help each key closes it, and does nothing else.
    view.press(ENTER);
    expect(view.text).to.contain('3 semaphores');
  });

  it('changes the limit, pauses and resumes, each after a question', async () => {
    await open([summaryOf('gpus', 3, 2), summaryOf('other', 1, 0)]);
    for (const no of ['l', 'l7', 'p', 'px']) await pressAndLook(no + ESCAPE);
    expect(view.made).to.deep.equal([]);
    view.press('l1x7');
    expect(view.text).to.contain('New limit of gpus, now 3 (N, +N, -N; esc: leave it): 17▏');
    await pressAndLook(`\u007f${ENTER}`);
    expect(view.text).to.contain('limit of gpus: 1');
    view.results = [5, 0];
    await pressAndLook(`l+2${ENTER}`);
    expect(view.text).to.contain('limit of gpus: 5');
    await pressAndLook(`l-4${ENTER}`);
    await pressAndLook(`l-${ENTER}`);
    expect(view.text).to.contain('limit: expected a whole number, 0 or more, got ""');
    await pressAndLook(ENTER);
    view.press('p');
    expect(view.text).to.contain('Pause gpus? No request gets a permit. y/N');
    await pressAndLook('y');
    view.find(summaryOf('gpus', 0, 2));
    expect(view.text).to.contain('gpus · paused, 2 held');
    await pressAndLook('pY');
    expect(view.text).to.contain('resumed gpus');
    const changes = ['set gpus 1', 'add gpus 2', 'add gpus -4', 'set gpus 0', 'set gpus 3'];
    expect(view.made).to.deep.equal(changes);
  });

  it('revokes the ticket under the cursor after a yes only, and says what came of it', async () => {
    await open([summaryOf('gpus', 3, 2)], 'gpus');
    for (const no of ['n', ENTER, ESCAPE, 'r']) await pressAndLook(`r${no}`);
    expect(view.made).to.deep.equal([]);
    expect(view.text).to.contain('gpus · 2 of 3').and.not.to.contain('Take ticket');
    view.press(`${DOWN}r`);
    expect(view.text).to.contain('Take ticket gpus.1 from holder 1? y/N');
    view.results = [true, false, new Error('NOPERM this user has no permissions')];
    await pressAndLook('y');
    expect(view.made).to.deep.equal(['revoke gpus gpus.1']);
    expect(view.looks.watched).to.deep.equal(['gpus', 'gpus']);
    expect(view.text).to.contain('revoked gpus.1');
    // Until the next key.
    view.press('s');
    expect(view.text).not.to.contain('revoked');
    await pressAndLook('ry');
    expect(view.text).to.contain(' was gone already');
    await pressAndLook('rY');
    expect(view.text).to.contain('NOPERM this user has no permissions');
    view.find(summaryOf('gpus', 3, 0));
    expect(view.text).to.contain('no permit is held, no request waits');
    await pressAndLook('ry');
    expect(view.made).to.have.length(3);
  });

  it('fits the screen whatever its size and whatever it shows', async () => {
    const { holders, ...others } = summaryOf('name\n'.repeat(50), 1000, 300, 100);
    const label = `${'漢'.repeat(500)}\n`;
    const crowd = { ...others, holders: holders.map((holder) => ({ ...holder, label })) };
    for (const name of [crowd.name, undefined]) {
      await open([crowd, { ...crowd, name: 'other' }], name);
      for (const size of ['200x60', '80x24', '40x12', '20x5', '5x2', '1x1']) {
        const [columns = 0, rows = 0] = size.split('x').map(Number);
        view.size = { columns, rows };
        view.press('r');
        expect(view.lines).to.have.length(rows);
        for (const line of view.lines) expect(widthOf(line)).to.be.at.most(columns);
        expect(view.lines.join('')).not.to.match(/\p{Cc}/u);
      }
    }
  });
});
