import { expect } from 'chai';
import { createStubInstance, stub, useFakeTimers } from 'sinon';
import { NO_LIMIT } from '../../src/backends/protocol.js';
import type { Server } from '../../src/cli/clients.js';
import { Operator } from '../../src/cli/operator.js';
import { type Line, plainText, type Style, widthOf } from '../../src/cli/style.js';
import { FullScreen } from '../../src/cli/watch/full-screen.js';
import { Screen } from '../../src/cli/watch/screen.js';
import { MemoryBackend, Semaphore, type SemaphoreOptions } from '../../src/index.js';

const [UP, DOWN, ENTER, ESCAPE] = ['\u001b[A', '\u001b[B', '\r', '\u001b'];

/** All views of the running test. */
const views: View[] = [];

/** The view of semaphores in memory, without a terminal: its screen, and the keys of a test. */
class View {
  readonly ended: Promise<void>;
  connected = true;
  shown: readonly Line[] = [];
  size = { columns: 120, rows: 12 };
  press: (keys: string) => void = () => undefined;
  redraw: () => void = () => undefined;

  constructor(target: object, name?: string) {
    const server = { target, connected: () => this.connected } as Server;
    const screen = createStubInstance(Screen);
    Object.defineProperty(screen, 'size', { get: () => this.size });
    screen.open.callsFake((onKeys, onResize) => {
      [this.press, this.redraw] = [onKeys, onResize];
    });
    screen.show.callsFake((lines) => void (this.shown = lines));
    const operator = new Operator(server, 'redsem');
    const settings = { interval: 1000, server: 'redis://server' };
    this.ended = new FullScreen(operator, operator.sampler(1000), screen, settings).run(name);
    views.push(this);
  }

  get lines(): string[] {
    return this.shown.map(plainText);
  }

  get text(): string {
    return this.lines.join('\n');
  }

  get selected(): string {
    const isChosen = (line: Line) => line.some(({ style }) => style === 'chosen');
    return this.shown.filter(isChosen).map(plainText).join();
  }

  /** The styles of all texts like this. */
  stylesOf(text: RegExp): (Style | undefined)[] {
    return this.shown.flat().flatMap((span) => (text.test(span.text) ? [span.style] : []));
  }
}

describe('the full screen of redsem watch', () => {
  let clock: ReturnType<typeof useFakeTimers>;
  let backend: MemoryBackend;
  let view: View;

  beforeEach(() => {
    const toFake = ['setTimeout', 'clearTimeout', 'performance', 'Date'] as const;
    clock = useFakeTimers({ toFake: [...toFake], now: 1_800_000_000_000 });
    backend = new MemoryBackend();
  });

  afterEach(async () => {
    for (const each of views.splice(0)) {
      each.press('\u0003');
      await each.ended;
    }
    // Until its last look a sampler listens for losses in this process.
    await clock.tickAsync(2000);
    clock.restore();
  });

  /** Opens the view and lets it look once. */
  async function open(name?: string): Promise<void> {
    view = new View(backend, name);
    await clock.tickAsync(0);
  }

  function semaphore(name: string, options: SemaphoreOptions): Semaphore {
    return new Semaphore(backend, name, { ttl: 30_000, label: `of ${name}`, ...options });
  }

  /** Holds permits of a semaphore, and lets requests wait. */
  async function fill(name: string, limit: number, held = limit, waiting = 0) {
    const own = semaphore(name, { limit });
    const handles = await Promise.all(Array.from({ length: held }, () => own.acquire()));
    for (let i = 0; i < waiting; i += 1) void own.acquire().catch(() => undefined);
    await clock.tickAsync(1);
    return { own, handles };
  }

  async function pressAndLook(keys: string): Promise<void> {
    view.press(keys);
    await clock.tickAsync(1000);
  }

  it('shows holders and waiters column by column, and moves the cursor within the rows', async () => {
    const { own, handles } = await fill('many', 300, 300, 50);
    await open('many');
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
      const { id = '', fencingToken = '' } = handles[row] ?? {};
      const holder = ['of many', row, '1ms', '29s', fencingToken, id].join(' +');
      const waiter = `of many +${row - 299} +1ms +1 +\\S+`;
      expect(view.selected, keys).to.match(new RegExp(`^${row < 300 ? holder : waiter}$`));
      expect(view.lines).to.have.length(12);
      expect(view.text).to.contain(shown);
      expect(view.text).to.match(/^HOLDER .*SLOT +HELD FOR +EXPIRES IN +TOKEN +TICKET$/m);
      expect(view.text).to.match(/^WAITER .*PLACE +WAITING FOR +PERMITS +REQUEST$/m);
    }
    const last = handles.at(-1);
    view.size = { columns: 80, rows: 30 };
    view.redraw();
    expect(view.text).to.contain(`ticket ${last?.id} · token ${last?.fencingToken} · slots 299`);
    view.size.columns = 120;
    await own.close();
    await fill('many', 3, 1);
    await pressAndLook('');
    expect(view.selected).to.match(/^of many +0 /);
    expect(view.text).to.contain('the selected row has ended');
  });

  it('takes no key amiss where there is nothing yet, and shows new names and damaged ones', async () => {
    await open();
    await pressAndLook(`${ENTER}rylp${UP}${DOWN}s${ESCAPE}`);
    expect(view.text).to.contain('0 semaphores').and.to.contain('try: redsem run demo');
    const known = { limitFrom: 'caller', held: 1, waiting: 0, oldestWait: undefined } as const;
    const row = (limit?: number) => ({ ...known, limit, tokens: [] });
    stub(backend, 'listNames').resolves({ names: ['hurt', 'new', 'old'], cursor: '' });
    const overview = stub(backend, 'overview');
    overview.resolves([{ error: 'WRONGTYPE' }, row(), row(2)]);
    await clock.tickAsync(10_000);
    const [, title, head, ...rows] = view.lines;
    expect(title).to.equal('2 semaphores · 0 waiting · 2 of 2 held · 0.0 grants/s');
    expect(head).to.match(/^NAME +HELD +WAITING +OLDEST +GRANTS\/S$/);
    expect(rows[0]).to.match(/^new +1\/\? +█ +0 +0\.0$/);
    expect(rows[1]).to.match(/^old +1\/2 +█░ +0 +0\.0$/);
    expect(view.text).to.match(/^"hurt" cannot be read: WRONGTYPE$/m);
    // Beside a semaphore without a limit the sum of the others says nothing.
    overview.resolves([row(NO_LIMIT), row(NO_LIMIT), row(2)]);
    await clock.tickAsync(1000);
    expect(view.lines[1]).to.equal('3 semaphores · 0 waiting · 3 held · 0.0 grants/s');
  });

  it('shows by styles how full each semaphore is, and which ticket is extended no longer', async () => {
    await fill('a', 1, 0);
    await fill('busy', 2, 2, 1);
    await fill('full', 2);
    await fill('half', 2, 1);
    await semaphore('a', { limit: 1 }).setLimit(1);
    await open();
    expect(view.selected).to.match(/^a +0\/1/);
    expect(view.stylesOf(/^[█░]+/)).to.deep.equal(['alarm', 'warning', 'good']);
    for (const extendEvery of [undefined, 0])
      await semaphore('gpus', { limit: 3, ttl: 60_000, extendEvery }).acquire();
    await open('gpus');
    expect(view.stylesOf(/^ *\d+s$/)).to.not.include('warning');
    await clock.tickAsync(46_000);
    expect(view.stylesOf(/^ *1\ds$/)).to.deep.equal(['warning']);
    view.connected = false;
    view.redraw();
    expect(view.stylesOf(/^not connected/)).to.deep.equal(['alarm']);
    expect(view.stylesOf(/^HOLDER/)).to.deep.equal(['faint']);
  });

  it('draws the last steps of a semaphore, each graph by its own scale', async () => {
    view = new View(backend, 'gpus');
    view.size = { columns: 80, rows: 24 };
    await fill('gpus', 4, 2);
    await clock.tickAsync(5000);
    await fill('gpus', 4, 2, 8);
    await clock.tickAsync(5000);
    await fill('gpus', 4, 0, 8);
    await clock.tickAsync(1000);
    expect(view.text)
      .to.match(/last 5m 5s$/m)
      .and.match(/^held +max +4 +▄██$/m)
      .and.match(/^waiting +max +16 +▄█$/m)
      .and.match(/^grants\/s +max 0\.4 +█$/m);
  });

  it('has orders, in which the cursor stays on its row, and a filter, and opens the selected row', async () => {
    await fill('b', 1, 1, 5);
    await fill('c', 3, 3, 9);
    const first = await semaphore('a', { limit: 4 }).acquire();
    for (const [label, ttl] of [
      ['R 3', 40_000],
      ['R 2', 10_000],
      ['R 1', 30_000],
      ['R 0', 20_000],
    ] as const) {
      if (label === 'R 0') await first.release();
      await semaphore('a', { limit: 4, label, ttl, extendEvery: 0 }).acquire();
      await clock.tickAsync(1000);
    }
    await open();
    /** The last sign of the names or labels, in each of the orders. */
    const orders = (): string[] =>
      ['s', 's', 's', 's'].map((key) => {
        const { selected } = view;
        view.press(key);
        expect(view.selected).to.equal(selected);
        return view.lines.flatMap((line) => /^(?:R )?([abc\d]) {2}/.exec(line)?.[1] ?? []).join('');
      });
    view.press(DOWN);
    expect(orders()).to.deep.equal(['acb', 'cba', 'bca', 'abc']);
    await pressAndLook(`k${ENTER}`);
    expect(view.text).to.contain('a · 4 of 4').and.to.contain('s sort (slot)');
    view.press(DOWN);
    expect(orders()).to.deep.equal(['3210', '2013', '0123', '0321']);
    view.press('/r 2');
    expect(view.text).to.contain('type what rows must contain').and.to.contain('filter: r 2');
    expect(view.selected).to.match(/^R 2 /);
    // This is a letter of the filter.
    view.press('s');
    expect(view.text).to.contain('no holder or waiter contains r 2s');
    view.press(`\u007f${ENTER}`);
    expect(view.text).to.contain('R 2').and.not.to.contain('R 1');
    await pressAndLook(ESCAPE);
    expect(view.text).to.contain('a · 4 of 4').and.to.contain('R 1');
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
    const { own } = await fill('gpus', 3, 2);
    await fill('other', 1);
    await open();
    const changed = async (keys: string): Promise<unknown> => {
      await pressAndLook(keys);
      const { limit, limitFrom } = await own.inspect();
      return limitFrom === 'setLimit' ? limit : undefined;
    };
    for (const no of ['l', 'l7', 'p', 'px']) expect(await changed(no + ESCAPE)).to.equal(undefined);
    view.press('l1x7');
    expect(view.text).to.contain('New limit of gpus, now 3 (N, +N, -N; esc: leave it): 17▏');
    for (const [keys, limit, text] of [
      [`\u007f${ENTER}`, 1, 'limit of gpus: 1'],
      [`l+4${ENTER}`, 5, 'limit of gpus: 5'],
      [`l-2${ENTER}`, 3, 'limit of gpus: 3'],
      [`l-${ENTER}`, 3, 'limit: expected a whole number, 0 or more, got ""'],
      [ENTER, 3, 'gpus · 2 of 3'],
      ['p', 3, 'Pause gpus? No request gets a permit. y/N'],
      ['y', 0, 'gpus · paused, 2 held'],
      ['pY', 3, 'resumed gpus'],
    ] as const) {
      expect(await changed(keys), keys).to.equal(limit);
      expect(view.text).to.contain(text);
    }
  });

  it('revokes the ticket under the cursor after a yes only, and shows the outcome', async () => {
    const { own, handles } = await fill('gpus', 3, 2);
    const [one, two] = handles.map(({ id }) => id);
    await open('gpus');
    for (const no of ['n', ENTER, ESCAPE, 'r']) await pressAndLook(`r${no}`);
    expect(view.text).to.contain('gpus · 2 of 3').and.not.to.contain('Take ticket');
    view.press(`${DOWN}r`);
    expect(view.text).to.contain(`Take ticket ${two} from of gpus? y/N`);
    await clock.tickAsync(1);
    view.press('y');
    // The view looks again at once.
    await clock.tickAsync(1);
    expect(view.text).to.contain('gpus · 1 of 3');
    expect((await own.inspect()).holders.map(({ id }) => id)).to.deep.equal([one]);
    expect(view.text).to.contain(`revoked ${two}`);
    // Until the next key.
    view.press('s');
    expect(view.text).not.to.contain('revoked');
    const revoke = stub(backend, 'revoke').resolves({ revoked: false, grants: [], serverTime: 0 });
    await pressAndLook('ry');
    expect(view.text).to.contain(`${one} was gone already`);
    Object.assign(backend, { isRetryable: () => false });
    revoke.rejects(new Error('NOPERM this user has no permissions'));
    await pressAndLook('rY');
    expect(view.text).to.contain('NOPERM this user has no permissions');
    await handles[0]?.release();
    await pressAndLook('');
    await pressAndLook('ry');
    expect(view.text).to.contain('no permit is held, no request waits');
    expect(revoke.callCount).to.equal(2);
  });

  it('fits the screen whatever its size and whatever it shows', async () => {
    const [crowd, label] = ['name\n'.repeat(50), `${'漢'.repeat(80)}\n`];
    const wide = semaphore(crowd, { limit: 300, label });
    for (let i = 0; i < 400; i += 1) void wide.acquire();
    await fill('other', 1);
    for (const name of [crowd, undefined]) {
      await open(name);
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
