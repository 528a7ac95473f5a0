import { expect } from 'chai';

import { QuorumError } from '../../src/index.js';
import { errorOf } from '../support/rejection.js';
import { onAll, QuorumFixture } from './quorum-fixture.js';
import { AT_ONCE, dead } from './troubled-node.js';

const TTL = 1000;

const CHANGES = {
  'from three nodes to five, or back': ['abc', 'abcde'],
  'of one node for another': ['abc', 'abd'],
  'of all nodes for others': ['abc', 'def'],
} as const;

/** Every choice of some of them. */
function choicesOf(nodes: string): string[] {
  return nodes.split('').reduce((all, node) => all.flatMap((some) => [some, some + node]), ['']);
}

/** Without a majority of each list there is no grant, whatever others hold. */
function hasMajorities(choice: string, lists: readonly string[]): boolean {
  return lists.every((list) => {
    return list.split('').filter((node) => choice.includes(node)).length > list.length / 2;
  });
}

/** The choices that have majorities, and none without any node of theirs. */
function minimal(choices: readonly string[], lists: readonly string[]): string[] {
  return choices.filter((some) => {
    const isMore = some.split('').some((node) => hasMajorities(some.replace(node, ''), lists));
    return hasMajorities(some, lists) && !isMore;
  });
}

describe('a change of nodes, by way of both lists', () => {
  /** Whether it is granted while only these nodes are there. */
  async function isGranted(fixture: QuorumFixture, id: string, nodes: string): Promise<boolean> {
    fixture.only(nodes, dead);
    const { kind } = await fixture.tryFor(id).catch(() => ({ kind: 'failed' }));
    return kind === 'granted';
  }

  for (const [title, [before, after]] of Object.entries(CHANGES)) {
    it(`never makes two holders ${title}, whichever nodes are away, and tokens rise`, async () => {
      const [first, both, last] = [[before], [before, after], [after]];
      const nodes = [...new Set(before + after)].join('');
      const choices = choicesOf(nodes);
      for (const [from, to] of [
        [first, both],
        [both, first],
        [both, last],
        [last, both],
      ] as const) {
        const joined = (): QuorumFixture => {
          const fixture = new QuorumFixture(6, 1);
          fixture.join('one', from);
          fixture.join('two', to);
          return fixture;
        };
        for (const there of minimal(choices, from)) {
          for (const then of [...minimal(choices, to), nodes]) {
            const fixture = joined();
            expect(await isGranted(fixture, 'one.1', there)).to.equal(true);
            expect(await isGranted(fixture, 'two.1', then)).to.equal(false);
          }
        }
        const fixture = joined();
        fixture.nodes.forEach(({ memory }, i) => (memory.skew = -1000 * i));
        const { fencingToken } = await fixture.take('one.2');
        await fixture.release('one.2');
        expect((await fixture.take('two.2')).fencingToken).to.be.above(fencingToken);
      }
    });
  }
});

describe('sets of nodes', () => {
  let fixture: QuorumFixture;
  const refused = (id: string): Promise<QuorumError> => errorOf(fixture.tryFor(id), QuorumError);
  const takeBriefly = async (id: string): Promise<void> => {
    await fixture.take(id);
    expect(await fixture.release(id)).to.equal(true);
  };

  beforeEach(() => {
    fixture = new QuorumFixture(5, 1, TTL);
    fixture.join('old', ['abc']);
  });

  for (const away of [0, 2 * TTL]) {
    it(`a client that lists another node gets no permit while another client holds one, if a node was empty after ${away} ms`, async () => {
      const extendOld = async (): Promise<void> => {
        expect(await fixture.extend('old.1')).to.deep.equal([true]);
        await fixture.clock.advance(TTL / 3);
      };
      fixture.node(1).fate = dead;
      await fixture.take('old.1');
      for (let passed = 0; passed < away; passed += TTL / 3) await extendOld();
      fixture.node(1).fate = () => AT_ONCE;
      fixture.join('other', ['abd']);
      // For as long as a few leases last.
      for (let i = 1; i <= 10; i += 1) {
        const { message } = await refused(`other.${i}`);
        expect(message).to.match(
          /lists the nodes a, b,.* but node \d is in use by .* a, b, c; see: npx redsem help QUORUM/,
        );
        await extendOld();
      }
      expect(fixture.warnings.get('other')).to.have.length(1);
      expect(fixture.warnings.get('old')).to.deep.equal([]);
      fixture.join('warned', ['abd'], { otherSet: 'warn' });
      fixture.node(1).memory.restart();
      await fixture.take('warned.1');
      expect(fixture.warnings.get('warned')).to.have.length(1);
    });
  }

  it('a refused client holds no other client up, and may acquire one ttl after the last use', async () => {
    fixture.join('other', ['abd']);
    await takeBriefly('old.0');
    for (let i = 1; i <= 10; i += 1) {
      await fixture.take(`old.${i}`);
      fixture.node(1).memory.restart();
      await refused(`other.${i}`);
      expect(await fixture.release(`old.${i}`)).to.equal(true);
    }
    await refused('other.11');
    await fixture.clock.advance(TTL + 1);
    await fixture.take('other.12');
    await refused('old.11');
  });

  it('may be named in any order, and heal when nodes come back empty', async () => {
    await fixture.take('old.1');
    for (const index of [0, 1, 2, 0]) {
      fixture.node(index).memory.restart();
      fixture.join(`fresh${index}`, ['cab']);
      expect((await fixture.tryFor(`fresh${index}.1`)).kind).to.equal('busy');
      await fixture.clock.advance(TTL / 3);
      expect(await fixture.extend('old.1')).to.deep.equal([true]);
      await fixture.clock.advance(TTL / 3);
    }
    expect(await fixture.release('old.1')).to.equal(true);
    fixture.join('last', ['bca']);
    await fixture.take('last.1');
  });

  it('are begun at once while a node is away whose client gives up its calls late', async () => {
    fixture.node(2).hold = async () => {
      await new Promise<void>((resolve) => fixture.clock.schedule(resolve, TTL));
      throw new Error('Connection is closed.');
    };
    const waits: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const began = fixture.clock.monotonic();
      await takeBriefly(`old.${i}`);
      waits.push(fixture.clock.monotonic() - began);
      await fixture.clock.advance(2 * TTL);
    }
    // The first waits for as long as a node is waited for.
    expect(waits).to.deep.equal([TTL / 10, 0, 0]);
  });

  it('under other names are another set, and a node refuses it before it takes anything', async () => {
    await fixture.take('old.1');
    fixture.join('alias', ['abc'], { names: ['x', 'y', 'z'] });
    const { message } = await refused('alias.1');
    expect(message).to.match(/lists the nodes x, y, z, but node 0 is in use by .* list a, b, c/);
    expect((await fixture.holders()).slice(0, 3)).to.deep.equal(onAll(['old.1']));
  });
});
