import type { PlantedBug } from './bug.js';

/** Protocol bugs: of this project's own history, of other packages, and of mutants. */
export const BUGS: readonly PlantedBug[] = [
  {
    name: 'lease-from-reply',
    origin: 'redlock: the clock starts after the call',
    what: 'A lease counts from the reply of an acquire, not from its sending',
    places: [
      {
        file: 'wait-loop.ts',
        find: 'const certainty = { since: sent, span: this.#options.ttl };',
        replace:
          'const certainty = { since: instant(this.#options.clock), span: this.#options.ttl };',
      },
    ],
  },
  {
    name: 'extension-from-reply',
    origin: 'mutant',
    what: 'An extended lease counts from the reply',
    places: [
      {
        file: 'extensions.ts',
        find: 'lease.confirm(sent);',
        replace: 'lease.confirm(instant(this.#options.clock));',
      },
    ],
  },
  {
    name: 'no-margin',
    origin: 'redis-semaphore: no drift allowance',
    what: 'A lease ends without a margin for clocks that run apart',
    places: [
      {
        file: 'lease.ts',
        find: 'const margin = this.#span * 0.01 + 2;',
        replace: 'const margin = this.#span * 0;',
      },
      {
        file: 'server-clock.ts',
        find: 'return span - (span * 0.01 + 2) - elapsedSince(since, clock);',
        replace: 'return span - elapsedSince(since, clock);',
      },
    ],
  },
  {
    name: 'wall-clock-only',
    origin: 'redis-semaphore: Date.now() decides',
    what: 'Leases are counted by the wall clock alone',
    places: [
      {
        file: 'clock.ts',
        find: 'return Math.max(clock.monotonic() - start.monotonic, clock.wall() - start.wall);',
        replace: 'return clock.wall() - start.wall;',
      },
    ],
  },
  {
    name: 'no-local-deadline',
    origin: 'redis-semaphore: isAcquired is a flag',
    what: 'A lease whose end passes unconfirmed is not lost',
    places: [
      { file: 'heartbeat.ts', find: 'if (remaining <= 0) {', replace: 'if (remaining < 0) {' },
    ],
  },
  {
    name: 'waiter-left-behind',
    origin: 'own history: abandoned waiters',
    what: 'A request that was given up is not withdrawn',
    places: [
      {
        file: 'wait-loop.ts',
        find: 'if (request.attempts > 0) this.#options.withdraw(request.id);',
        replace: '',
      },
    ],
  },
  {
    name: 'late-grant-kept',
    origin: 'own history: 03b9433',
    what: 'A grant whose caller has given up meanwhile is not given back',
    places: [
      {
        file: 'wait-loop.ts',
        find: "if (request.lease?.state.kind !== 'held') this.#options.withdraw(request.id);",
        replace: '',
      },
    ],
  },
  {
    name: 'late-call-takes-back',
    origin: 'own history: 6976523',
    what: 'A call that ends late gives back the ticket that a later call of its request holds',
    places: [
      {
        file: 'wait-loop.ts',
        find: "if (request.lease?.state.kind !== 'held') this.#options.withdraw(request.id);",
        replace: 'this.#options.withdraw(request.id);',
      },
    ],
  },
  {
    name: 'first-failure-is-loss',
    origin: 'redlock-universal: one failed extension aborts',
    what: 'One failed extension is a loss',
    places: [
      {
        file: 'heartbeat.ts',
        find: 'lease.failures += 1;',
        replace: "lease.failures += 1; lease.lose('expired', error);",
      },
    ],
  },
  {
    name: 'extension-stuck',
    origin: 'redis-semaphore: a hung refresh leaves its flag set',
    what: 'After a failed extension there is no other',
    places: [
      {
        file: 'extensions.ts',
        find: '      lease.extending = false;\n      if (telemetry.extend.active) publishExtend(lease, error);',
        replace: '      if (telemetry.extend.active) publishExtend(lease, error);',
      },
    ],
  },
  {
    name: 'pushed-grant-not-claimed',
    origin: 'own defect: a fresh push is lost',
    what: 'A pushed grant is first extended when a third of its ttl is over, not within its claim time',
    places: [
      {
        file: 'coordinator.ts',
        find: 'const dueAt = claimed',
        replace: 'const dueAt = claimed || !claimed',
      },
    ],
  },
  {
    name: 'unbounded-certainty',
    origin: 'own history: steps of the clock of the server',
    what: 'The end of a pushed grant is believed however far off it is',
    places: [
      {
        file: 'server-clock.ts',
        find: 'const span = Math.min(expiry - time, elapsedSince(sent, this.#clock) + most);',
        replace: 'const span = most < 0 ? elapsedSince(sent, this.#clock) : expiry - time;',
      },
    ],
  },
  {
    name: 'timer-set-once',
    origin: 'mutant',
    what: 'A timer that is set is not set earlier',
    places: [
      {
        file: 'wake-timer.ts',
        find: 'if (at >= this.#at) return;',
        replace: 'if (this.#timer !== undefined) return;',
      },
    ],
  },
  {
    name: 'no-time-limit',
    origin: 'redis-semaphore: a command in the offline queue outlasts the timeout',
    what: 'A call that nobody answers is waited for ten times as long',
    places: [
      {
        file: 'time-limit.ts',
        find: 'const timer = clock.schedule(onSilence, limit, false);',
        replace: 'const timer = clock.schedule(onSilence, 10 * limit, false);',
      },
    ],
  },
  {
    name: 'lost-after-release',
    origin: 'mutant',
    what: 'A released lease does not know that it is',
    places: [
      {
        file: 'lease.ts',
        find: '    this.#state = RELEASED;\n    this.#end();',
        replace: '    void RELEASED;',
      },
    ],
  },
  {
    name: 'close-keeps-tickets',
    origin: 'own history: 8e37347 and before',
    what: 'close() does not give tickets back',
    places: [
      {
        file: 'coordinator.ts',
        find: "if (reason === 'closed') this.#returns.withdraw(lease.id);",
        replace: '',
      },
    ],
  },
  {
    name: 'all-keeps-parts',
    origin: 'redlock-universal: partial locks stay',
    what: 'What acquireAll has taken before it failed is not given back',
    places: [
      {
        file: 'ordered-acquisition.ts',
        find: '      void this.#giveBack(this.#levels.flat());\n      throw error;',
        replace: '      throw error;',
      },
    ],
  },
  {
    name: 'ids-reused',
    origin: 'redlock: one value for all tries',
    what: 'Ids of tickets come again after forty',
    places: [
      {
        file: 'session.ts',
        find: 'this.#tickets += 1;',
        replace: 'this.#tickets = (this.#tickets % 40) + 1;',
      },
    ],
  },
  {
    name: 'one-name-for-all',
    origin: '@verrou/core: owner ids collide',
    what: 'All processes have the same name',
    places: [
      {
        file: 'ticket-id.ts',
        find: "return bytes.toString('base64url').replace(/^-/, '_');",
        replace: "return bytes.toString('base64url').replace(/.*/, 'AAAAAAAAAAAA');",
      },
    ],
  },
  {
    name: 'late-commands-act',
    origin: 'own history: b499ee1',
    what: 'The server serves an acquire that comes after its time',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'const late = notAfter !== undefined && now > notAfter;',
        replace: 'const late = notAfter !== undefined && now < 0;',
      },
    ],
  },
  {
    name: 'late-limit',
    origin: 'own history: 286c0b9',
    what: 'A setLimit whose caller was told that it failed acts later',
    places: [
      {
        file: 'coordinator.ts',
        find: 'setLimit({ ...call, notAfter })',
        replace: 'setLimit(notAfter === undefined ? { ...call, notAfter } : call)',
      },
    ],
  },
  {
    name: 'tail-of-the-queue',
    origin: 'design: a request keeps its place',
    what: 'A request that was dropped returns to the end of the queue',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'if (arrival === undefined || this.#tickets.has(id) || this.#queue.has(id)) return;',
        replace: "if (id !== '') return;",
      },
    ],
  },
  {
    name: 'dead-waiters-served',
    origin: 'own history: dead processes',
    what: 'Requests of processes that are silent for too long are granted',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'return this.#leases.has(client);',
        replace: "return this.#leases.has(client) || client !== '';",
      },
    ],
  },
  {
    name: 'release-wakes-nobody',
    origin: 'most other packages: a release wakes nobody',
    what: 'A permit that is given back waits for the next call',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'return { serverTime: now, ...limits, released, grants: this.#grantFreed(call, now) };',
        replace: 'return { serverTime: now, ...limits, released, grants: [] };',
      },
    ],
  },
  {
    name: 'token-not-compared',
    origin: 'own history: 4123d51',
    what: 'An extension renews whatever ticket has the id',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'if (ticket === undefined || ticket.fencingToken !== token) return false;',
        replace: 'if (ticket === undefined || token === undefined) return false;',
      },
    ],
  },
  {
    name: 'overtaking',
    origin: 'redis-semaphore: no queue',
    what: 'New requests are granted what is free before those who wait',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'if (ticket === undefined && !served.blocked && this.#slots.used + permits <= limit) {',
        replace: 'if (ticket === undefined && this.#slots.used + permits <= limit) {',
      },
    ],
  },
  {
    name: 'big-ones-starve',
    origin: 'bottleneck: what fits goes first',
    what: 'A request that does not fit is passed by smaller ones behind it',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'if (this.#slots.used + waiter.permits > call.limit) return { granted, blocked: true };',
        replace: 'if (this.#slots.used + waiter.permits > call.limit) continue;',
      },
    ],
  },
  {
    name: 'limit-off-by-one',
    origin: 'mutant',
    what: 'One permit more than the limit is granted to who asks',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'if (ticket === undefined && !served.blocked && this.#slots.used + permits <= limit) {',
        replace:
          'if (ticket === undefined && !served.blocked && this.#slots.used + permits <= limit + 1) {',
      },
    ],
  },
  {
    name: 'silent-waiters',
    origin: 'own contract: tries renew the lease of those who wait',
    what: 'Who waits asks again only every eight seconds',
    places: [
      {
        file: 'wait-loop.ts',
        find: 'const SAFETY_PAUSE = 1500;',
        replace: 'const SAFETY_PAUSE = 8000;',
      },
    ],
  },
  {
    name: 'half-is-a-majority',
    origin: 'redis-semaphore: majorities of counts',
    what: 'Half of the nodes of a quorum are enough',
    places: [
      {
        file: 'quorum/majorities.ts',
        find: 'return Math.floor(nodes / 2) + 1;',
        replace: 'return Math.floor(nodes / 2);',
      },
    ],
    nodes: 3,
  },
  {
    name: 'finished-requests-served',
    origin: 'own defect: data that comes back a little older',
    what: 'A grant for a request that was served before the server lost data is left to its claim time',
    places: [
      {
        file: 'session.ts',
        find: 'if (coordinators.some((one) => one.onGrant(grant))) continue;',
        replace: 'if (coordinators.every((one) => one.onGrant(grant) || true)) continue;',
      },
    ],
  },
  {
    name: 'release-not-retried',
    origin: 'redis-semaphore: a release that fails is forgotten',
    what: 'A release without an answer is not tried again',
    places: [
      {
        file: 'ticket-returns.ts',
        find: 'clock.schedule(() => this.#lane.add(item), pause, false);',
        replace: 'void pause;',
      },
      {
        file: 'ticket-returns.ts',
        find: 'if (this.#failed.size > 0) this.#tryLater(refused ? REFUSED : retry);',
        replace: '',
      },
    ],
  },
  {
    name: 'late-adoption',
    origin: 'own history: b499ee1',
    what: 'Adopting acts however late it comes',
    places: [
      {
        file: 'memory/memory-semaphore.ts',
        find: 'const late = call.notAfter !== undefined && now > call.notAfter;',
        replace: 'const late = call.notAfter !== undefined && now < 0;',
      },
    ],
  },
];
