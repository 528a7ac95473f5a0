import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from './run-program.js';

/** The cells of each line of a table, header and rule left out. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => {
    const cells = line.slice(1, -1).split('|');
    return cells.map((cell) => cell.trim());
  });
}

describe('comparison with the peers', () => {
  let features: string[][];
  let sources: string[][];
  let page: string;

  before(async () => {
    page = await readFile(join(ROOT, 'docs/comparison.md'), 'utf8');
    const [first = '', second = ''] = page.split('\n## Where each row is from\n');
    [features, sources] = [rowsOf(first), rowsOf(second)];
  });

  it('says something in every cell', () => {
    expect(features).to.have.length.above(15);
    for (const row of features) {
      expect(row, row[0]).to.have.length(7);
      for (const cell of row) expect(cell, row[0]).to.not.equal('');
    }
  });

  it('names for every row a test of ours and the sources of the others', () => {
    const names = (rows: string[][]): (string | undefined)[] => rows.map(([name]) => name);
    expect(names(sources)).to.deep.equal(names(features));
    for (const [name, ours, peers] of sources) {
      expect(ours, name).to.match(/^`(test|verification)\//);
      expect(peers, name).to.not.equal('');
    }
  });

  it('has a target for every short link, a file at a commit', () => {
    const used = [...page.matchAll(/\]\[([a-z-]+)\]/g)].map(([, name]) => name);
    const targets = new Map(
      [...page.matchAll(/^\[([a-z-]+)\]: (\S+)$/gm)].map(([, name, target]) => [name, target]),
    );
    expect(new Set(used)).to.deep.equal(new Set(targets.keys()));
    for (const target of targets.values()) expect(target).to.match(/\/blob\/[0-9a-f]{40}\/src\//);
  });
});
