import type { FaultKind } from '../faults/kinds.js';
import type { Kind } from '../settings.js';

/** A bug that is put into the sources, to see whether the simulator finds it. */
export interface PlantedBug {
  readonly name: string;
  /** The package or the commit that had it; left out: it is a mutant. */
  readonly origin?: string;
  /** The wrong rule. */
  readonly what: string;
  /** Where it is planted: a path below src. */
  readonly file: string;
  /** Text that the file has once. */
  readonly find: string;
  /** Left out: the text is taken away. */
  readonly replace?: string;
  /** Independent masters that the runs have; default 1. */
  readonly nodes?: number;
  /** The kind of the runs. */
  readonly kind?: Kind;
  /** The only faults that strike, for a bug that few of them bring to light; default: all. */
  readonly faults?: readonly FaultKind[];
  /** Mean seconds between two calls of a caller; default: by the seed. */
  readonly pace?: number;
}

/** Protocol bugs: of this project's own history, of other packages, and of mutants. */
export const BUGS: readonly PlantedBug[] = [
  {
    name: 'lease-from-reply',
    origin: 'redlock: the clock starts after the call',
    what: 'A lease counts from the reply of an acquire, not from its sending',
    file: 'core/request.ts',
    find: '{ from: call.sent, duration: this.ttl }',
    replace:
      '{ from: { monotonic: this.link.clock.monotonic(), wall: this.link.clock.wall() }, duration: this.ttl }',
  },
  {
    name: 'extension-from-reply',
    what: 'An extended lease counts from the reply',
    file: 'core/lease.ts',
    find: 'const window = { from: call.sent, duration: ttl };',
    replace:
      'const window = { from: { monotonic: link.clock.monotonic(), wall: link.clock.wall() }, duration: ttl };',
  },
  {
    name: 'no-margin',
    origin: 'redis-semaphore: no drift allowance',
    what: 'A lease ends without a margin for clocks that run apart',
    file: 'time/validity.ts',
    find: 'return duration - (duration * 0.01 + 2) - elapsedSince(from, clock, now);',
    replace: 'return duration - elapsedSince(from, clock, now);',
  },
  {
    name: 'wall-clock-only',
    origin: 'redis-semaphore: Date.now() decides',
    what: 'Leases are counted by the wall clock alone',
    file: 'time/clock.ts',
    find: 'return Math.max(now - start.monotonic, clock.wall() - start.wall);',
    replace: 'return now < 0 ? now : clock.wall() - start.wall;',
  },
  {
    name: 'no-local-deadline',
    origin: 'redis-semaphore: isAcquired is a flag',
    what: 'A lease whose end passes unconfirmed is not lost',
    file: 'core/lease.ts',
    find: "    this.lose(this.#kept?.loss() ?? 'expired', this.lastError);",
  },
  {
    name: 'waiter-left-behind',
    origin: 'own history: abandoned waiters',
    what: 'A request that was given up is not withdrawn',
    file: 'core/request.ts',
    find: 'if (this.attempts > refused) this.withdraw();',
  },
  {
    name: 'late-grant-kept',
    origin: 'own history: 03b9433',
    what: 'A grant whose caller has given up meanwhile is not given back',
    file: 'core/request.ts',
    find: "if (this.stage !== 'held') this.withdraw();",
    faults: ['straggle', 'slow', 'lose-replies'],
  },
  {
    name: 'late-call-takes-back',
    origin: 'own history: 6976523',
    what: 'A call that ends late gives back the ticket that a later call of its request holds',
    file: 'core/request.ts',
    find: "if (this.stage !== 'held') this.withdraw();",
    replace: 'this.withdraw();',
  },
  {
    name: 'first-failure-is-loss',
    origin: 'redlock-universal: one failed extension aborts',
    what: 'One failed extension is a loss',
    file: 'core/lease.ts',
    find: 'this.#failures += 1;',
    replace: "this.#failures += 1;\n    this.lose('expired', error);",
  },
  {
    name: 'extension-stuck',
    origin: 'redis-semaphore: a hung refresh leaves its flag set',
    what: 'After a failed extension there is no other',
    file: 'core/lease.ts',
    find: '    if (this.#extension === call) this.#extension = undefined;\n    const { clock, options',
    replace: '    const { clock, options',
  },
  {
    name: 'pushed-grant-not-claimed',
    origin: 'own defect: a fresh push is lost',
    what: 'A pushed grant is first extended when a third of its ttl is over, not within its claim time',
    file: 'core/lease.ts',
    find: 'this.#dueAt = isClaimed ? this.heldSince + this.link.extendEvery : claimAt;',
    replace: 'this.#dueAt = claimAt < 0 ? now : this.heldSince + this.link.extendEvery;',
  },
  {
    name: 'unbounded-certainty',
    origin: 'own history: steps of the clock of the server',
    what: 'The end of a pushed grant is believed however far off it is',
    file: 'time/server-clock.ts',
    find: 'if (expiry - time > longest + SLACK) return undefined;\n    return { from: sent, duration: Math.min(expiry - time, longest) };',
    replace: 'return { from: sent, duration: longest < 0 ? longest : expiry - time };',
  },
  {
    name: 'timer-set-once',
    what: 'A wake-up that is set is not set earlier',
    file: 'time/shared-timer.ts',
    find: 'if (at >= this.at) return;',
    replace: 'if (at >= this.at || this.at < Infinity) return;',
  },
  {
    name: 'no-time-limit',
    origin: 'redis-semaphore: a command in the offline queue outlasts the timeout',
    what: 'A call without an answer lasts ten times as long',
    file: 'core/batcher.ts',
    find: 'deadline: sent.monotonic + this.#callTimeoutMs,',
    replace: 'deadline: sent.monotonic + 10 * this.#callTimeoutMs,',
  },
  {
    name: 'lost-after-release',
    what: 'A released lease is extended as before, and lost then',
    file: 'core/lease.ts',
    find: '    if (wasHeld) this.#stop();',
    replace: "    if (wasHeld) this.stage = 'held';",
  },
  {
    name: 'close-keeps-tickets',
    origin: 'own history: 8e37347 and before',
    what: 'close() does not give tickets back',
    file: 'core/lease.ts',
    find: "if (reason === 'closed') this.withdraw();",
  },
  {
    name: 'all-keeps-parts',
    origin: 'redlock-universal: partial locks stay',
    what: 'What acquireAll has taken before it failed is not given back',
    file: 'many/ordered-acquisition.ts',
    find: '      void this.#giveBack(this.shares);\n      throw error;',
    replace: '      throw error;',
  },
  {
    name: 'ids-reused',
    origin: 'redlock: one value for all tries',
    what: 'Ids of tickets come again after forty',
    file: 'core/client.ts',
    find: 'this.#lastNumber += 1;',
    replace: 'this.#lastNumber = (this.#lastNumber % 40) + 1;',
  },
  {
    name: 'one-name-for-all',
    origin: '@verrou/core: owner ids collide',
    what: 'All processes have the same name',
    file: 'backends/ticket-id.ts',
    find: "return bytes.toString('base64url').replace(/^-/, '_');",
    replace: "return bytes.toString('base64url').replace(/.*/, 'AAAAAAAAAAAA');",
  },
  {
    name: 'late-commands-act',
    origin: 'own history: b499ee1',
    what: 'The server serves an acquire that comes after its time',
    file: 'backends/memory/requests.ts',
    find: 'if (isLate(s, call)) {',
    replace: "if (isLate(s, call) && call.client === '') {",
  },
  {
    name: 'late-limit',
    origin: 'own history: 286c0b9',
    what: 'A setLimit that failed for its caller takes effect later',
    file: 'core/admin.ts',
    find: '{ ...call, notAfter, ...fields }',
    replace: "{ ...call, notAfter: method === 'setLimit' ? undefined : notAfter, ...fields }",
    faults: ['hang', 'straggle', 'duplicate'],
  },
  {
    name: 'tail-of-the-queue',
    origin: 'design: a request keeps its place',
    what: 'A request that was dropped returns to the end of the queue',
    file: 'backends/memory/requests.ts',
    find: 'if (arrival !== undefined && !tickets.has(id) && !requests.has(id)) {',
    replace: "if (arrival !== undefined && id === '') {",
  },
  {
    name: 'dead-waiters-served',
    origin: 'own history: dead processes',
    what: 'Requests of processes that are silent for too long are granted',
    file: 'backends/memory/serve.ts',
    find: '(keys.clients.get(call.client) ?? -Infinity) > now;',
    replace: "(keys.clients.get(call.client) ?? -Infinity) > now || call.client !== '';",
  },
  {
    name: 'release-wakes-no-waiter',
    origin: 'most other packages: a release wakes no waiter',
    what: 'A release grants no waiter the permit that comes free',
    file: 'backends/memory/calls.ts',
    find: 'return { released };',
    replace: 's.limit = 0;\n  return { released };',
  },
  {
    name: 'look-grants-nothing',
    origin: 'own defect: seed -794296930 of the lock-step',
    what: 'An all-or-none acquire drops expired tickets and grants no waiter what comes free',
    file: 'backends/memory/requests.ts',
    find: "s.client = '';\n  serve(s);",
    replace: "s.client = '';",
  },
  {
    name: 'token-not-compared',
    origin: 'own history: 4123d51',
    what: 'An extension renews whatever ticket has the id',
    file: 'backends/memory/calls.ts',
    find: 'const token = call.fencingTokens?.[i] ?? ticket?.fencingToken;',
    replace: 'const token = ticket?.fencingToken;',
    faults: ['restart-old', 'restart-empty', 'straggle', 'duplicate'],
  },
  {
    name: 'overtaking',
    origin: 'redis-semaphore: no queue',
    what: 'New requests get free permits before the waiters',
    file: 'backends/memory/requests.ts',
    find: 'if (canTake && s.waiting === 0) return',
    replace: 'if (canTake) return',
  },
  {
    name: 'big-ones-starve',
    origin: 'bottleneck: what fits goes first',
    what: 'A request that does not fit is passed by smaller requests behind it',
    file: 'backends/memory/serve.ts',
    find: 'return;\n    } else {',
    replace: 'leaveFlow(s, r);\n      s.keys.parks = r.permits;\n    } else {',
  },
  {
    name: 'newcomers-first',
    origin: 'own defect: groups that ask once do not move virtual time',
    what: 'A group that comes back starts at its own last tag, and a new one at the beginning',
    file: 'backends/memory/order.ts',
    find: `if (isGranted) s.keys.times[priority] = Math.max(timeOf(s, priority), start + costOf(r));
  // The next of its flow takes over its start: a request that leaves, leaves no hole.
  lead(s, flow, isGranted ? undefined : flow.start);`,
    replace: 'lead(s, flow, isGranted ? start + costOf(r) : flow.start);',
    kind: 'newcomers',
    pace: 0.1,
  },
  {
    name: 'limit-off-by-one',
    what: 'One permit more than the limit is granted to a caller',
    file: 'backends/memory/requests.ts',
    find: 'if (canTake && s.waiting === 0) return',
    replace: 'if (s.waiting === 0 && s.keys.slots.held + permits <= s.limit + 1) return',
  },
  {
    name: 'silent-waiters',
    origin: 'own contract: tries renew the lease of waiters',
    what: 'A waiter asks again only every eight seconds',
    file: 'core/semaphore-link.ts',
    find: 'const SAFETY_PAUSE_MS = 1500;',
    replace: 'const SAFETY_PAUSE_MS = 8000;',
  },
  {
    name: 'half-is-a-majority',
    origin: 'redis-semaphore: majorities of counts',
    what: 'Half of the nodes of a quorum are enough',
    file: 'backends/quorum/votes.ts',
    find: 'Math.floor(list.length / 2) + 1',
    replace: 'Math.floor(list.length / 2)',
    nodes: 3,
  },
  {
    name: 'finished-requests-served',
    origin: 'own defect: data that comes back a little older',
    what: 'A grant for a request that was served before the server lost data is left to its claim time',
    file: 'core/client.ts',
    find: 'if (permit === undefined) this.#giveBack(name, grant.id);',
    replace: 'if (permit === undefined) continue;',
  },
  {
    name: 'release-not-retried',
    origin: 'redis-semaphore: a release that fails is forgotten',
    what: 'A release without an answer is not tried again',
    file: 'core/release.ts',
    find: '    this.#failed.add(release);',
    replace: '    if (MOST_FAILED < 0) this.#failed.add(release);',
  },
  {
    name: 'late-adoption',
    origin: 'own history: b499ee1',
    what: 'Adopting acts however late it comes',
    file: 'backends/memory/calls.ts',
    find: 'const found = late ? undefined : tickets.get(before);',
    replace: 'const found = tickets.get(before);',
    faults: ['hang', 'straggle', 'duplicate'],
    pace: 4,
  },
  {
    name: 'tokens-by-own-clock',
    origin: 'own defect: seed 374321702',
    what: 'A wall clock that is set forward puts the tokens of a quorum ahead of its nodes',
    file: 'backends/quorum/asking.ts',
    find: 'return Math.max(0, this.#clock.monotonic() + this.#ahead);',
    replace: 'return this.#serverClock.latestIn(0) ?? this.#ahead;',
    nodes: 3,
    faults: ['step-wall', 'restart-empty'],
  },
  {
    name: 'one-list-is-enough',
    what: 'While the list of nodes is changed, a majority of one of the two lists is enough',
    file: 'backends/quorum/votes.ts',
    find: 'return this.#lists.every(',
    replace: 'return this.#lists.some(',
    nodes: 3,
    kind: 'moved',
  },
  {
    name: 'keeper-renews-after-release',
    what: 'A keeper does not hear that its holder has ended, and renews the ticket on',
    file: 'core/lease.ts',
    find: '    this.#kept?.stop();',
    kind: 'keeper',
  },
  {
    name: 'keeper-place-reused',
    what: 'A place in the shared memory is taken again while the keeper may still write there',
    file: 'keeper/kept-leases.ts',
    find: "          send({ do: 'stop', index });",
    replace:
      "          send({ do: 'stop', index });\n          this.#leases.delete(index);\n          this.#free.push(index);",
    kind: 'keeper',
  },
  {
    name: 'settle-twice',
    origin: 'own contract: settled once, though a release runs twice',
    what: 'A release that runs again charges its budgets again',
    file: 'backends/memory/calls.ts',
    find: 'if (ticket !== undefined && costs !== undefined) settlePrice(s, ticket.charged, costs);',
    replace: 'if (costs !== undefined) settlePrice(s, ticket?.charged ?? [], costs);',
    kind: 'budgets',
    faults: ['duplicate', 'lose-replies', 'cut'],
  },
  {
    name: 'cap-forgotten',
    what: 'A group may hold any number of permits, each request as many as its limit',
    file: 'backends/memory/order.ts',
    find: 'return cap === Infinity || (keys.groups.get(order.group) ?? 0) + permits <= cap;',
    replace: 'return cap === Infinity || (keys.groups.get(order.group) ?? 0) * 0 + permits <= cap;',
    kind: 'budgets',
  },
  {
    name: 'capped-for-ever',
    what: 'A group at its limit does not come back when a permit of the group does',
    file: 'backends/memory/order.ts',
    find: 'if (flow !== undefined && flow.start === undefined) lead(s, flow);',
    kind: 'budgets',
  },
  {
    name: 'refund-of-the-past',
    what: 'Unspent units are given back, though time has given them back already',
    file: 'backends/memory/rate.ts',
    find: 'const left = Math.max(0, due - time);',
    replace: 'const left = due < 0 ? 0 : Math.max(0, tat - time);',
    kind: 'budgets',
  },
];
