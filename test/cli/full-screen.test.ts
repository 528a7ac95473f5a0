import { expect } from 'chai';
import type { SinonStubbedInstance } from 'sinon';
import { createStubInstance, useFakeTimers } from 'sinon';
import type { Sight } from '../../src/cli/operator.js';
import { Operator } from '../../src/cli/operator.js';
import { FullScreen } from '../../src/cli/watch/full-screen.js';
import { Screen } from '../../src/cli/watch/screen.js';
import { Watcher } from '../../src/cli/watch/watcher.js';
import { sightOf } from './sights.js';

const INTERVAL = 1000;
const [UP, DOWN, ENTER, ESCAPE] = ['\u001b[A', '\u001b[B', '\r', '\u001b'];

/** The view without a terminal: what stands on the screen, and keys that are pressed. */
class View {
  readonly operator: SinonStubbedInstance<Operator> = createStubInstance(Operator);
  readonly ended: Promise<void>;
  size = { columns: 100, rows: 12 };
  sights: Sight[];
  #lines: readonly string[] = [];
  #selected = '';
  #onKeys: (text: string) => void = () => undefined;
  #onResize: () => void = () => undefined;

  constructor(sights: Sight[], name?: string) {
    this.sights = sights;
    this.operator.names.callsFake(async () => this.sights.map((sight) => sight.name));
    this.operator.inspectAll.callsFake(async (names) =>
      this.sights.filter((sight) => names.includes(sight.name)),
    );
    const screen = createStubInstance(Screen);
    Object.defineProperty(screen, 'size', { get: () => this.size });
    screen.open.callsFake((onKeys, onResize) => {
      this.#onKeys = onKeys;
      this.#onResize = onResize;
    });
    screen.show.callsFake((lines) => {
      this.#lines = lines.map(({ text }) => text);
      this.#selected = lines.find(({ style }) => style === 'selected')?.text ?? '';
    });
    const watcher = new Watcher(this.operator);
    this.ended = new FullScreen(this.operator, watcher, screen, INTERVAL).run(name);
  }

  get text(): string {
    return this.#lines.join('\n');
  }

  get selected(): string {
    return this.#selected;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  resize(columns: number, rows: number): void {
    this.size = { columns, rows };
    this.#onResize();
  }

  press(...keys: string[]): void {
    for (const key of keys) this.#onKeys(key);
  }
}

describe('the full screen of redsem watch', () => {
  let clock: ReturnType<typeof useFakeTimers>;
  let view: View;

  beforeEach(() => {
    clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });

  afterEach(async () => {
    view.press('q');
    await view.ended;
    clock.restore();
  });

  /** Opens the view and lets it look once. */
  async function open(sights: Sight[], name?: string): Promise<void> {
    view = new View(sights, name);
    await clock.tickAsync(0);
  }

  it('moves the cursor no further than the rows go', async () => {
    await open([sightOf('gpus', 3, 3)], 'gpus');
    expect(view.selected).to.match(/^0 .*gpus\.0/);
    view.press(UP);
    expect(view.selected).to.match(/gpus\.0/);
    view.press(DOWN, 'j', 'j', 'j');
    expect(view.selected).to.match(/gpus\.2/);
    view.press('k');
    expect(view.selected).to.match(/gpus\.1/);
    // A ticket that ended takes its row with it.
    view.sights = [sightOf('gpus', 3, 1)];
    await clock.tickAsync(INTERVAL);
    expect(view.selected).to.match(/gpus\.0/);
  });

  it('shows at the next look what has changed', async () => {
    await open([sightOf('gpus', 3, 1)], 'gpus');
    expect(view.text).to.contain('gpus: 1 of 3 permits held, 0 waiting');
    view.sights = [sightOf('gpus', 3, 3, 2)];
    await clock.tickAsync(INTERVAL - 1);
    expect(view.text).to.contain('gpus: 1 of 3');
    await clock.tickAsync(1);
    expect(view.text).to.contain('gpus: 3 of 3 permits held, 2 waiting');
    expect(view.text).to.match(/grants .*█.* 2\.0\/s seen/);
  });

  it('says why a look failed until one succeeds, over what was seen before', async () => {
    await open([sightOf('gpus', 3, 1)], 'gpus');
    view.operator.inspectAll.onSecondCall().rejects(new Error('no answer'));
    await clock.tickAsync(INTERVAL);
    expect(view.text).to.contain('no answer').and.to.contain('gpus: 1 of 3');
    await clock.tickAsync(INTERVAL);
    expect(view.text).not.to.contain('no answer');
  });

  it('says that there is nothing yet, and then takes no key amiss', async () => {
    await open([]);
    expect(view.text).to.contain('0 semaphores');
    view.press(ENTER, 'r', 'y', UP, DOWN, 's', ESCAPE);
    expect(view.text).to.contain('0 semaphores').and.to.contain('enter open');
    await clock.tickAsync(0);
    view.sights = [sightOf('new', 1, 0)];
    // New names are looked for every ten seconds.
    await clock.tickAsync(10 * INTERVAL);
    expect(view.text)
      .to.contain('1 semaphore\n')
      .and.to.match(/new +0\/1 +░ +0/);
    expect(view.operator.revoke.callCount).to.equal(0);
  });

  it('opens the selected semaphore in the order that is shown, and goes back to all', async () => {
    await open([sightOf('few', 9, 1), sightOf('many', 9, 5), sightOf('some', 9, 3)]);
    view.press('s');
    expect(view.text).to.contain('s sort (held)');
    view.press(DOWN);
    expect(view.selected).to.match(/^some /);
    view.press(ENTER);
    await clock.tickAsync(0);
    expect(view.text).to.contain('some: 3 of 9').and.to.contain('s sort (slot)');
    // There is nothing further to open.
    view.press(ENTER);
    expect(view.text).to.contain('some: 3 of 9');
    view.press(ESCAPE);
    await clock.tickAsync(0);
    expect(view.text).to.contain('3 semaphores').and.to.contain('s sort (name)');
  });

  it('looks at once at what was opened while a look was under way', async () => {
    await open([sightOf('gpus', 3, 1)]);
    let answer: (sights: Sight[]) => void = () => undefined;
    const slow = new Promise<Sight[]>((resolve) => (answer = resolve));
    view.operator.inspectAll.onSecondCall().returns(slow);
    await clock.tickAsync(INTERVAL);
    view.press(ENTER);
    expect(view.operator.inspectAll.callCount).to.equal(2);
    answer(view.sights);
    await clock.tickAsync(0);
    expect(view.operator.inspectAll.callCount).to.equal(3);
    expect(view.operator.inspectAll.lastCall.args).to.deep.equal([['gpus']]);
    expect(view.text).to.contain('gpus: 1 of 3');
  });

  it('revokes the ticket under the cursor after a yes, and looks at once', async () => {
    await open([sightOf('gpus', 3, 2)], 'gpus');
    view.operator.revoke.resolves(true);
    view.press(DOWN, 'r');
    expect(view.text).to.contain('Take ticket gpus.1 from holder 1? y/N');
    view.press('y');
    await clock.tickAsync(0);
    expect(view.operator.revoke.args).to.deep.equal([['gpus', 'gpus.1']]);
    expect(view.operator.inspectAll.callCount).to.equal(2);
    expect(view.text).to.contain('revoked gpus.1');
    // Until the next key.
    view.press('s');
    expect(view.text).not.to.contain('revoked');
  });

  for (const [key, what] of [
    ['n', 'a no'],
    [ENTER, 'enter'],
    [ESCAPE, 'escape, which goes nowhere then'],
    ['r', 'the same key again'],
  ] as const) {
    it(`revokes nothing after ${what}`, async () => {
      await open([sightOf('gpus', 3, 1)], 'gpus');
      view.press('r', key);
      await clock.tickAsync(0);
      expect(view.operator.revoke.callCount).to.equal(0);
      expect(view.text).not.to.contain('Take ticket');
      expect(view.text).to.contain('gpus: 1 of 3');
    });
  }

  it('asks nothing where there is nothing to revoke', async () => {
    await open([sightOf('gpus', 3, 0)], 'gpus');
    expect(view.text).to.contain('nobody holds a permit');
    view.press('r', 'y');
    await clock.tickAsync(0);
    expect(view.operator.revoke.callCount).to.equal(0);
  });

  it('says when a ticket was gone already, and when it could not be revoked', async () => {
    await open([sightOf('gpus', 3, 1)], 'gpus');
    view.operator.revoke.onFirstCall().resolves(false);
    view.operator.revoke.onSecondCall().rejects(new Error('NOPERM this user has no permissions'));
    view.press('r', 'y');
    await clock.tickAsync(0);
    expect(view.text).to.contain('gpus.0 was gone already');
    view.press('r', 'Y');
    await clock.tickAsync(0);
    expect(view.text).to.contain('NOPERM this user has no permissions');
  });

  it('fills the window, whatever becomes of its size', async () => {
    await open([sightOf('gpus', 300, 300)], 'gpus');
    expect(view.lines).to.have.length(12);
    view.resize(30, 40);
    expect(view.lines).to.have.length(40);
    expect(Math.max(...view.lines.map((line) => line.length))).to.be.at.most(30);
  });
});
