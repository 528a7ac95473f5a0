import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { readPages } from '../../verification/docs/markdown-samples.js';
import { leastRights } from '../../verification/support/least-rights.js';
import { ROOT } from './run-program.js';

const pages = new Map(readPages().map(({ path, text }) => [path, text]));
const NAMED_FILE = /`((?:test|verification|src|examples|benchmarks)\/[\w./-]+\w)`/g;
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The cells of each line of a table, header and rule left out. */
function rowsOf(text = ''): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

it('samples in the README and the docs fit the column of the site: 80 characters', () => {
  const shown = [...pages].filter(([path]) => /^(README|docs\/(?!evidence))/.test(path));
  const wide = shown.flatMap(([path, text]) =>
    [...text.matchAll(/^```(?:ts|js|sh)\n(.*?)^```$/gms)]
      .flatMap(([, code = '']) => code.split('\n'))
      .filter((line) => line.length > 80 && !line.includes('// ioredis:'))
      .map((line) => `${path}: ${line}`),
  );
  expect(wide).to.deep.equal([]);
});

it('every page of the docs but raw reports is within two clicks from the README', () => {
  const clicks = new Map([['README.md', 0]]);
  for (const [from, count] of clicks) {
    for (const [, link = ''] of (pages.get(from) ?? '').matchAll(/\]\(([^)#\s]+\.md)/g)) {
      const to = join(dirname(from), link);
      if (!clicks.has(to)) clicks.set(to, count + 1);
    }
  }
  const far = [...pages.keys()].filter((path) => !((clicks.get(path) ?? Infinity) <= 2));
  expect(far.filter((path) => /^docs\/(?!evidence\/chaos\/)/.test(path))).to.deep.equal([]);
});

describe('tables of the docs', () => {
  it('list the rights that the tests give to a user, letter for letter', () => {
    const command = `ACL SETUSER redsem on >secret resetkeys resetchannels -@all ${leastRights.join(' ')}`;
    for (const page of ['errors', 'redis'])
      expect(read(`docs/reference/${page}.md`).split(/[`\n]/), page).to.include(command);
  });

  it('compare with the peers in every cell, with a test of ours and a source for every row', () => {
    const page = read('docs/explanation/comparison.md');
    const [features = [], sources = []] = page.split('\n## Where each row is from\n').map(rowsOf);
    expect(features).to.have.length.above(15);
    for (const row of features) {
      expect(row, row[0]).to.have.length(7).and.not.include('');
    }
    expect(sources.map(([name]) => name)).to.deep.equal(features.map(([name]) => name));
    for (const [name, ours, peers] of sources) {
      expect(ours, name).to.match(/^`(test|verification)\//);
      expect(peers, name).to.not.equal('');
    }
    const used = [...page.matchAll(/\]\[([a-z-]+)\]/g)].map(([, name]) => name);
    const links = [...page.matchAll(/^\[([a-z-]+)\]: (.*)$/gm)];
    expect(new Set(used)).to.deep.equal(new Set(links.map(([, name]) => name)));
    for (const [, , target] of links) expect(target).to.match(/\/blob\/[0-9a-f]{40}\/src\/\S+$/);
  });
});

it('the docs name in backquotes only files that are there', () => {
  const prose = [...pages.values()].join('\n').replaceAll(/^```.*?^```$/gms, '');
  const named = [...prose.matchAll(NAMED_FILE)].map(([, name = '']) => name);
  expect(named).to.have.length.above(100);
  expect(named.filter((name) => !existsSync(join(ROOT, name)))).to.deep.equal([]);
});

/** A question of a newcomer, the section that answers it, and words of the answer. */
const ANSWERS: readonly (readonly [question: string, section: string, words: RegExp])[] = [
  ['Redis restarts while my work runs?', 'docs/faq.md#Redis was restarted', /loads its scripts/],
  ['Five jobs for each customer?', 'docs/guides/keyed-semaphore.md#One limit', /per tenant/],
  ['kill -9 of a worker?', 'README.md#Guaranteed', /crashed process come back within one `ttl`/],
  ['SIGTERM in Kubernetes?', 'docs/guides/shutdown-and-deploys.md#Kubernetes', /grace period/],
  ['Fair across processes?', 'README.md#Guaranteed', /in the order in which it saw/],
  ['Fake timers in my tests?', 'docs/guides/testing.md#Fake timers', /useFakeTimers/],
  ['Who holds it?', 'docs/guides/operating.md#See who holds', /holders\.map/],
  ['Which rights does it need?', 'docs/reference/redis.md#Rights', /ACL SETUSER/],
  ['My loop blocks for seconds?', 'README.md#The API', /A blocked event loop renews nothing/],
  ['One tenant starves the others?', 'docs/guides/fair-shares-and-priorities.md#Fair', /group/],
  ['What does it cost?', 'README.md#What it costs', /Redis calls per second/],
  ['Change the limit while it runs?', 'docs/guides/operating.md#Change the limit', /setLimit\(4\)/],
  ['NestJS?', 'docs/guides/recipes.md#NestJS', /OnApplicationShutdown/],
  ['Elect a leader?', 'docs/guides/election.md#Elect a leader', /new Election/],
  ['Upstash over REST?', 'docs/faq.md#Upstash over REST', /no subscriptions/],
  ['ttl or timeout?', 'README.md#The API', /`ttl` is not `timeout`/],
  ['From Bottleneck.Group?', 'docs/guides/migrating.md#From bottleneck', /new KeyedSemaphore/],
  ['100 a minute and 10 at once?', 'docs/guides/rate-per-second.md#Calls', /burst: 10/],
  ['Lost in a transaction?', 'docs/guides/when-a-permit-is-lost.md#A database', /assertHeld\(\)/],
  ['Bun, Deno, Cloudflare?', 'docs/faq.md#Cloudflare Workers', /No: redsem needs a TCP connection/],
];

it('twenty questions of a newcomer are answered by the section that the table names', () => {
  for (const [question, section, words] of ANSWERS) {
    const [path = '', heading = ''] = section.split('#');
    const sections = (pages.get(path) ?? '').split(/^#+ /m);
    expect(sections.find((each) => each.startsWith(heading)) ?? '', question).to.match(words);
  }
});
