import { expect } from 'chai';

import { checkHistory } from '../check-history.js';
import { scriptedHistory } from './scripted-history.js';

/** Correct histories, each close to a violation of its rule. */
const sound: Record<string, string> = {
  'exclusion: a holder that was killed is succeeded within its lease':
    'limit=1; w1 100-; !kill-process 200 w1; w2 1050-1100',
  'exclusion: a stopped holder that reads its handle only when its lease is over':
    'limit=1; w1 100- reads=2990 lost=expired@3000; !stop-process 200-2990 w1; w2 1150-2000',
  'fencing: of calls that ran at the same time, in any order':
    'w1 100 200-300 token=8; w2/1 110 210-300 token=7',
  'fencing: of a lease that was over before its holder heard of it':
    'w2 200-300 token=9; w1 100 250- until=250 token=8',
  'fencing: that come again after data was lost while the clock was behind':
    'w1 100-200 token=5000; !step-clock 300-301 step=-5000; !flush-data 500-510; w2 800-900 token=5000',
  'lost-silently: a ticket outlives the data of one of several masters':
    'w1 100-5000; !restart-empty 1000-2000 node=2',
  'phantom: a ticket that was granted to a process that died goes after its life':
    'seen 100 holds=dead.1/0; seen 1000 holds=dead.1/0',
  'phantom: the ticket of a dead holder lives longer for a clock that went back':
    'w1 100- id=w1.a; !kill-process 200-201 w1; !step-clock 300-301 step=-5000; seen 5900 holds=w1.a/0/100',
  'phantom: a ticket that its holder had lost is left to expire':
    'w1 100-1200 released=no id=w1.a extended=101 lost=expired@1099; !stop-server 200-1150; seen 1300 holds=w1.a/0/100',
  'lost-late: a holder hears of the end of its lease when its process continues':
    'w1 100- extended=101 lost=expired@2000; !stop-process 200-1950 w1',
  'deadline: a process that was stopped ends its call when it continues':
    'w1 asks 100-2000 timeout=500; !stop-process 200-1950 w1',
  // Found by --seed 8 --minutes 8 --topology cluster, and the next one as well.
  'phantom: a try that ran late, after the release, is given back':
    '!swallow-requests 50-90 w1; w1 100-400 id=w1.a; seen 500 holds=w1.a/0/499',
  'phantom: a request that does not hear of its grants asks again, which keeps them':
    'w1 10-20; !swallow-replies 50-2500 w1; w1 asks 100-2000; seen 200 holds=w1.a/0/199; seen 2900 holds=w1.a/0/199',
  'phantom: a read of the server that crossed the release':
    'w1 100-400 id=w1.a; seen 402 holds=w1.a/0/100',
};

/**
 * Histories that break the rule before the colon, and no other. Planted bugs show the rules that a
 * simulation has as well.
 */
const broken: Record<string, string> = {
  'exclusion: one holder too many': 'w1 100-400; w2/1 200-500; w3/1 300-350',
  'exclusion: a successor while the lease of a stopped holder runs':
    'limit=1; w1 100- lost=expired@3000; !stop-process 200-2990 w1; w2 900-950',
  'exclusion: the clock went back, which expires nothing':
    'limit=1; w1 100-700; !step-clock 300-301 step=-5000; w2 600-900',
  'exclusion: keys without tickets were deleted':
    'limit=1; w1 100-700; !delete-key 300-301 key=queue; w2 600-900',
  'exclusion: a restart that kept the data':
    'limit=1; w1 100-900; !restart-with-data 300-400; w2 600-800',
  'exclusion: one of several masters came back empty':
    'limit=1; w1 100-900; !restart-empty 300-400 node=1; w2 600-800',
  'exclusion: a ticket outlived a failover, and its slot has another holder':
    'limit=1; w1 100-3000; !fail-over 300-400; w2 600-2900',
  'exclusion: an overlap that began before the data was lost':
    'limit=1; w1 100- lost=missing@700; w2 300-350; !flush-data 500-510',
  'slots: fewer slots than permits': 'w1/0 100-400 permits=2',
  'server: more tickets than the limit': 'seen 100 holds=a.1/0,a.2/1,a.3/2',
  'server: two tickets on one slot': 'seen 100 holds=a.1/0,a.2/0',
  'server: more tickets than the limit just after the data was lost':
    'limit=1; !flush-data 50-60; seen 100 holds=a.1/0,a.2/1',
  'fencing: a token twice': 'w1 100 200-300 token=7; w2/1 110 210-300 token=7',
  'fencing: a lower one for a later call': 'w1 100-300 token=8; w2/1 200-400 token=7',
  'fencing: a lower one for the next holder of a slot, though it had asked before':
    'limit=1; w1 100 150-200 token=8; w2 100 250-300 token=7',
  'fencing: a lower one after a clock step back that lost no data':
    'w1 100-200 token=5000; !step-clock 300-301 step=-5000; w2 800-900 token=800',
  'fencing: a lower one after data was lost when the clock had caught up':
    'w1 100-200 token=9000; !step-clock 300-301 step=-5000; !flush-data 5500-5501; w2 6000-6100 token=8000',
  'lost-silently: no report that the data was lost': 'w1 100-5000; !flush-data 2000-2010',
  'lost-silently: no report that the clock went beyond its ticket':
    'w1 100-5000; !step-clock 2000-2001 step=5000',
  'lost-silently: a release says that it was still held': 'w1 100-800; !flush-data 500-510',
  'cause: lost because scripts were forgotten':
    'w1 100- lost=expired@1100; !forget-scripts 150-151',
  'lost-late: a holder hears of the end of its lease too late':
    'w1 100- extended=101 lost=expired@2000; !stop-server 200-1950',
  'failure: a call fails though nothing was wrong': 'w1 asks 100-110 ends=unknown',
  'liveness: one permit is never granted again':
    'w1/0,1 100-200; quiet 1000; w1 1100-1200; w2 1300-1400',
  'liveness: one permit is granted too late': 'quiet 1000; w1 1100-1200; w2/1 6100-6200',
  'leak: a permit is held at the end': 'final 1000 held=1 keys=info,tickets',
  'leak: a key is left at the end': 'final 1000 keys=info,slots',
  'phantom: a ticket that never had a holder does not go':
    'seen 100 holds=x.1/0; seen 1500 holds=x.1/0',
  'phantom: a released ticket is still there': 'w1 100-400 id=w1.a; seen 403 holds=w1.a/0/100',
  'phantom: a ticket is granted again after its release, while nothing was wrong':
    '!swallow-requests 50-90 w2; w1 100-400 id=w1.a; seen 500 holds=w1.a/0/499',
  'phantom: a try that ran late is never given back':
    '!swallow-requests 50-90 w1; w1 100-400 id=w1.a; seen 500 holds=w1.a/0/499; seen 1800 holds=w1.a/0/499',
  'phantom: a grant that no process hears of outlives the request':
    'w1 10-20; !swallow-replies 50-2500 w1; w1 asks 100-500; seen 200 holds=w1.a/0/199; seen 1900 holds=w1.a/0/199',
  'phantom: the ticket of a dead holder outlives its ttl':
    'w1 100- id=w1.a; !kill-process 200-201 w1; seen 1500 holds=w1.a/0/100',
};

describe('history checker', () => {
  const check = (text: string): string[] =>
    checkHistory(scriptedHistory(text)).map(({ rule }) => rule);

  for (const [title, text] of Object.entries(sound)) {
    it(`finds nothing wrong: ${title}`, () => expect(check(text)).to.deep.equal([]));
  }

  for (const [title, text] of Object.entries(broken)) {
    it(`finds this, and for this reason alone: ${title}`, () => {
      expect([...new Set(check(text))]).to.deep.equal(title.split(':').slice(0, 1));
    });
  }
});
