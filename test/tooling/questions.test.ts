import { expect } from 'chai';
import { readPages } from '../../verification/docs/markdown-samples.js';

/** A question of a newcomer, the section that answers it, and words of the answer. */
const ANSWERS: readonly (readonly [question: string, section: string, words: RegExp])[] = [
  ['Redis restarts while my work runs?', 'docs/faq.md#Redis was restarted', /loads its scripts/],
  [
    'Five jobs for each customer?',
    'docs/guides/keyed-semaphore.md#One limit',
    /N calls at once per tenant/,
  ],
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

const pages = new Map(readPages().map(({ path, text }) => [path, text]));

/** From a heading that begins with these words to the next heading. */
function sectionOf(path: string, heading: string): string {
  const prose = (pages.get(path) ?? '').split(/^#+ /m);
  return prose.find((section) => section.startsWith(heading)) ?? '';
}

// Each page is within two clicks from the README: docs-tables.test.ts.
describe('twenty questions of a newcomer', () => {
  for (const [question, section, words] of ANSWERS) {
    it(`${question} is answered by ${section}`, () => {
      const [path = '', heading = ''] = section.split('#');
      expect(sectionOf(path, heading)).to.match(words);
    });
  }
});
