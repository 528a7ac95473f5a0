/*
 * Waiting and granting, as the Lua scripts and the client do it. README.md in this folder says what is
 * modelled, what is left out, and which source file each step stands for.
 *
 * Parameters (-D): N requests, each of a process of its own; LIMIT permits; TTL, CLAIM, LEASE in ticks.
 * TIMED: what is due happens before the next tick, except for FAULTS faults and CRASHES crashes in all;
 * without it, any number of faults, crashes and delays. BREAK_...: leaves that rule out, which shows what it
 * is needed for. LIVENESS: with the formulas at the end.
 */
#ifndef N
#define N 2
#endif
#ifndef LIMIT
#define LIMIT 1
#endif
#ifndef TTL
#define TTL 2
#endif
#ifndef CLAIM
#define CLAIM 1
#endif
#ifndef LEASE
#define LEASE 1
#endif
#ifndef FAULTS
#define FAULTS 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif

#define NOBODY 7
#define FOR_EVER 3 /* an expiry that no tick reaches */

/* What the process of a request knows of it: PermitRequest.state and Lease.state. */
#define IDLE 0
#define WAIT 1    /* pending */
#define HELD 2    /* there is a handle; it believes in its permit while `sure` > 0 */
#define REJECTED 3 /* timed out, aborted or failed: the caller was told */
#define OVER 4    /* released or lost */
#define CRASHED 5

/* A command on its way, or its reply. */
#define NONE 0
#define SENT 1
#define REPLIED 2 /* 'granted', or 'extended' */

typedef Call {
  unsigned phase : 2;
  unsigned age : 2; /* ticks until sending time + ttl: what a reply proves, and when `notAfter` is over */
  bit place         /* carries the arrival number */
};

typedef Request {
  /* The process. */
  unsigned state : 3;
  unsigned sure : 2;   /* ticks until the local deadline */
  unsigned since : 2;  /* ticks until it has been REJECTED or OVER for longer than any notAfter */
  bit told;            /* knows its arrival number */
  bit returning;       /* a release or withdrawal is not yet confirmed */
  bit stray;           /* a late command had an effect after its request had ended, and its reply was lost */
  /* The wire. */
  Call try;
  Call extension;
  bit push;
  unsigned pushAge : 2; /* ticks until the expiry that the push names */
  /* The server. */
  bit ticket;
  unsigned expiry : 2;
  bit queued;
  unsigned arrival : 2; /* rank; 0: none yet */
  unsigned lease : 2;   /* until when its process counts as alive */
#ifdef TIMED
  bit asked;    /* began or tried since the last tick */
  bit extended; /* holds are finite: one extension each */
#endif
};

Request R[N];
Call stale;        /* one more copy of a try: given up but still on its way, or sent twice */
byte staleOf = NOBODY;

#ifdef TIMED
byte faults = FAULTS;
byte crashes = CRASHES;
#define MAY_FAIL (faults > 0)
#define FAIL faults--
#define MAY_CRASH (crashes > 0)
#define COUNT_CRASH crashes--
#define MAY_BEGIN(r) (!r.asked)
#define ASKED(r) r.asked = 1
#define MAY_EXTEND(r) (!r.extended)
#define EXTENDED(r) r.extended = 1
#else
#define MAY_FAIL (true)
#define FAIL skip
#define MAY_CRASH (true)
#define COUNT_CRASH skip
#define MAY_BEGIN(r) (true)
#define ASKED(r) skip
#define MAY_EXTEND(r) (true)
#define EXTENDED(r) skip
#endif

/* Scratch of one step; not part of a state. The names appear in what spin reports. */
hidden byte j, k, head, held, me, top;
hidden byte late, had, acted, swapped;
hidden byte live_tickets, believing_holders, uncovered_leases, phantoms, doubled;
hidden byte overtaken, idle_permits, grants_to_dead, live_dropped, acts_after_not_after;

/* ---------------------------------------------------------------- properties of every state */

inline check() {
  live_tickets = 0; believing_holders = 0; uncovered_leases = 0; phantoms = 0; doubled = 0;
  for (k : 0 .. N - 1) {
    if :: R[k].ticket && R[k].expiry > 0 -> live_tickets++ :: else fi;
    if
    :: R[k].state == HELD && R[k].sure > 0 ->
       believing_holders++;
       if :: !R[k].ticket || R[k].expiry < R[k].sure -> uncovered_leases++ :: else fi
    :: else
    fi;
    if
    :: R[k].state == REJECTED && !R[k].returning && !R[k].stray && R[k].try.phase == NONE &&
       staleOf != k && ((R[k].ticket && R[k].expiry > 0) || R[k].queued) -> phantoms++
    :: else
    fi;
    if :: R[k].ticket && R[k].queued -> doubled++ :: else fi
  };
  assert(live_tickets <= LIMIT);
  assert(believing_holders <= LIMIT);
  assert(uncovered_leases == 0);
  assert(phantoms == 0);
  assert(doubled == 0)
}

/* ---------------------------------------------------------------- the server: src/redis/lua */

/* state.lua: drops what has expired. */
inline purge() {
#ifndef BREAK_PURGE
  for (k : 0 .. N - 1) {
    if :: R[k].ticket && R[k].expiry == 0 -> R[k].ticket = 0 :: else fi
  };
#endif
  held = 0;
  for (k : 0 .. N - 1) {
    if :: R[k].ticket -> held++ :: else fi
  }
}

inline leaveQueue(x) {
  R[x].queued = 0;
  R[x].lease = 0
}

/* Sorted set scores are compared only: ranks do, and stay small. */
inline forgetArrival(x) {
  if
  :: R[x].arrival > 0 ->
     for (k : 0 .. N - 1) {
       if :: R[k].arrival > R[x].arrival -> R[k].arrival-- :: else fi
     };
     R[x].arrival = 0
  :: else
  fi
}

inline enterTail(x) {
  forgetArrival(x);
  top = 0;
  for (k : 0 .. N - 1) {
    if :: R[k].arrival > top -> top = R[k].arrival :: else fi
  };
  R[x].arrival = top + 1;
  R[x].queued = 1;
  R[x].lease = LEASE
}

inline findHead() {
  head = NOBODY;
  for (k : 0 .. N - 1) {
    if
    :: R[k].queued ->
       if
       :: head == NOBODY -> head = k
       :: else -> if :: R[k].arrival < R[head].arrival -> head = k :: else fi
       fi
    :: else
    fi
  }
}

/* serve.lua, and the push of write.lua. `me`: whose call this is, if it asks for a permit. */
inline serve() {
  grants_to_dead = 0; live_dropped = 0;
  do
  :: held >= LIMIT -> break
  :: else ->
     findHead();
     if
     :: head == NOBODY -> break
#ifndef BREAK_WAITER_LEASE
     :: head != NOBODY && head != me && R[head].lease == 0 ->
        if :: R[head].state == WAIT -> live_dropped++ :: else fi;
        leaveQueue(head)
#endif
     :: else ->
        if
        :: head != me && R[head].lease == 0 && R[head].state == CRASHED -> grants_to_dead++
        :: else
        fi;
        leaveQueue(head);
        R[head].ticket = 1;
        held++;
        if
        :: head == me -> R[head].expiry = TTL
        :: else ->
#ifdef BREAK_CLAIM_EXPIRY
           R[head].expiry = FOR_EVER;
#else
           R[head].expiry = CLAIM;
#endif
           /* Anyone but a waiter gives it back (Session), which is left out: without that it stays for its claim. */
           if :: R[head].state == WAIT -> R[head].push = 1; R[head].pushAge = CLAIM :: else fi
        fi
     fi
  od;
  assert(grants_to_dead == 0)
#if defined(TIMED) && FAULTS == 0
  ; assert(live_dropped == 0)
#endif
}

/* At the end of each script: nobody waits beside a free permit. */
inline checkServed() {
  idle_permits = 0;
  findHead();
  if :: held < LIMIT && head != NOBODY -> idle_permits++ :: else fi;
  assert(idle_permits == 0)
}

/* Nobody in the queue who counts as alive may be overtaken by a new request. */
inline checkOrder() {
  overtaken = 0;
  for (k : 0 .. N - 1) {
    if :: R[k].queued && R[k].lease > 0 -> overtaken++ :: else fi
  };
  assert(overtaken == 0)
}

/* acquire.lua for request x; sets `had`/`acted`/`late`. Ends with R[x].ticket, R[x].queued or neither (late). */
inline acquire(x, call) {
  purge();
  late = (call.age == 0);
#ifdef BREAK_NOT_AFTER
  late = 0;
#endif
  had = R[x].ticket;
  acted = 0;
#ifdef BREAK_OVERTAKING
  if
  :: !late && !had && !R[x].queued && held < LIMIT ->
     checkOrder(); R[x].ticket = 1; R[x].expiry = TTL; held++; had = 1; acted = 1
  :: else
  fi;
#endif
  if
  :: !late && call.place && !had && !R[x].queued && R[x].arrival > 0 ->
     R[x].queued = 1; R[x].lease = LEASE; acted = 1
  :: else
  fi;
#ifdef BREAK_IDEMPOTENCE
  if :: had && !R[x].queued -> enterTail(x) :: else fi;
  had = 0;
#endif
  me = (late -> NOBODY : x);
  serve();
  if
  :: late
  :: !late && had -> R[x].expiry = TTL
  :: !late && !had && R[x].ticket -> acted = 1
  :: !late && !had && !R[x].ticket && R[x].queued ->
#ifndef BREAK_LEASE_RENEWAL
     if :: call.place -> R[x].lease = LEASE :: else fi
#else
     skip
#endif
  :: else ->
     acted = 1;
     if
     :: held < LIMIT -> checkOrder(); R[x].ticket = 1; R[x].expiry = TTL; held++
     :: else -> enterTail(x)
     fi
  fi;
  checkServed();
  acts_after_not_after = 0;
  if
  :: acted && R[x].since == 0 && (R[x].state == REJECTED || R[x].state == OVER) ->
     acts_after_not_after++
  :: else
  fi;
  assert(acts_after_not_after == 0)
}

/* extend.lua; `had`: the verdict. */
inline extend(x) {
  purge();
  had = R[x].ticket;
#ifdef BREAK_MISSING_TICKET
  if :: !had -> R[x].ticket = 1; held++; had = 1 :: else fi;
#endif
  if :: had -> R[x].expiry = TTL :: else fi;
  me = NOBODY;
  serve();
  checkServed()
}

/* release.lua */
inline release(x) {
  purge();
  if
  :: R[x].ticket -> R[x].ticket = 0; R[x].expiry = 0; held--
  :: else ->
#ifdef BREAK_RELEASE_BY_ID
     top = NOBODY;
     for (k : 0 .. N - 1) {
       if :: R[k].ticket -> top = k :: else fi
     };
     if :: top != NOBODY -> R[top].ticket = 0; R[top].expiry = 0; held-- :: else fi
#else
     skip
#endif
  fi;
#ifndef BREAK_WITHDRAWAL_FROM_QUEUE
  if :: R[x].queued -> leaveQueue(x) :: else fi;
#endif
  me = NOBODY;
#ifndef BREAK_GRANT_IN_FREEING_CALL
  serve();
#endif
  checkServed()
}

/* ---------------------------------------------------------------- the process: src/*.ts */

/* Normal form: what no later step reads is 0, so that equal states look equal. */
inline clear(call) {
  call.phase = NONE;
  call.age = 0;
  call.place = 0
}

#define GONE(x) (!R[x].ticket && !R[x].queued)
#define UNDER_WAY(x) (R[x].try.phase || R[x].extension.phase || R[x].returning || staleOf == x)

/* Nothing is left of a request: its number serves for another. */
inline reset(x) {
  R[x].state = IDLE;
  R[x].since = 0;
  R[x].stray = 0;
  R[x].told = 0;
  R[x].expiry = 0;
#ifdef TIMED
  R[x].extended = 0;
#endif
  forgetArrival(x)
}

inline normalise() {
  for (j : 0 .. N - 1) {
    if
    :: R[j].state >= REJECTED && R[j].try.phase == NONE && staleOf != j -> R[j].since = 0
    :: else
    fi;
    if
    :: !R[j].queued && !R[j].told && !R[j].try.place && !(staleOf == j && stale.place) -> forgetArrival(j)
    :: else
    fi;
    if :: R[j].state >= REJECTED && GONE(j) && !UNDER_WAY(j) -> reset(j) :: else fi
  }
}

inline copy(from, to) {
  to.phase = from.phase;
  to.age = from.age;
  to.place = from.place
}

inline send(x) {
  R[x].try.phase = SENT;
  R[x].try.age = TTL;
  R[x].try.place = R[x].told;
  ASKED(R[x])
}

/* Lease: made by a reply, or by a push; `ticks` is what is certain. */
inline hold(x, ticks) {
  R[x].state = HELD;
  R[x].sure = ticks;
  R[x].push = 0;
  R[x].pushAge = 0;
  R[x].told = 0
}

inline finish(x, how) {
  R[x].state = how;
  R[x].sure = 0;
  R[x].since = TTL;
  R[x].push = 0;
  R[x].pushAge = 0;
  R[x].told = 0;
#ifdef TIMED
  R[x].extended = 0
#endif
}

/* TicketReturns: kept up until confirmed. */
inline giveBack(x) {
#ifndef BREAK_WITHDRAWAL
  R[x].returning = 1
#else
  skip
#endif
}

/* Request.#onVerdict, where the request is no longer pending. */
inline overtakenReply(x) {
  if
  :: R[x].state == REJECTED || R[x].state == OVER -> giveBack(x)
#ifdef BREAK_HELD_IS_KEPT
  :: R[x].state == HELD -> giveBack(x)
#endif
  :: else
  fi
}

/* Request.#onVerdict, 'granted' */
inline receiveGrant(x, call) {
  if
#ifdef BREAK_COUNTED_FROM_SENDING
  :: R[x].state == WAIT -> hold(x, TTL)
#else
  :: R[x].state == WAIT && call.age > 0 -> hold(x, call.age)
  :: R[x].state == WAIT && call.age == 0 /* its lease has run out: asked again */
#endif
  :: else -> overtakenReply(x)
  fi
}

/* The server runs a try. 'queued' and 'late' are heard at once or never: only 'granted' loses by delay. */
inline runTry(x, call, heard) {
  acquire(x, call);
  if
  :: R[x].state == CRASHED -> clear(call)
  :: R[x].state != CRASHED && R[x].ticket && !late && heard -> call.phase = REPLIED; call.place = 0
  :: else ->
     clear(call);
     if
     :: !heard ->
        if :: acted && R[x].state == REJECTED -> R[x].stray = 1 :: else fi
     :: heard && R[x].state == WAIT -> if :: R[x].queued && !late -> R[x].told = 1 :: else fi
     :: else -> overtakenReply(x)
     fi
  fi
}

inline strayIfUnread(x, call) {
  if
  :: call.phase == REPLIED && R[x].state == REJECTED && R[x].ticket -> R[x].stray = 1
  :: else
  fi
}

#ifdef BREAK_POLLING
#define POLLS(x) (!R[x].told)
#else
#define POLLS(x) (true)
#endif

/*
 * Requests and their processes are all alike, and no step tells them apart: states that differ in their numbers only
 * are one (but the formulas at the end name request 0). So each step ends with the requests in the order of what they
 * are; any order would do, and it does not have to be a total one.
 */
#define SHAPE(x) (R[x].state | R[x].sure << 3 | R[x].since << 5 | R[x].ticket << 7 | R[x].expiry << 8 | \
  R[x].queued << 10 | R[x].arrival << 11 | R[x].lease << 13 | R[x].try.phase << 15 | R[x].try.age << 17 | \
  R[x].extension.phase << 19 | R[x].extension.age << 21 | R[x].push << 23 | R[x].pushAge << 24 | \
  R[x].returning << 26 | R[x].told << 27 | R[x].stray << 28 | R[x].try.place << 29)

inline swap(one, other) {
  swapped = one; one = other; other = swapped
}

inline swapRequests(x, y) {
  swap(R[x].state, R[y].state); swap(R[x].sure, R[y].sure); swap(R[x].since, R[y].since);
  swap(R[x].told, R[y].told); swap(R[x].returning, R[y].returning); swap(R[x].stray, R[y].stray);
  swap(R[x].try.phase, R[y].try.phase); swap(R[x].try.age, R[y].try.age); swap(R[x].try.place, R[y].try.place);
  swap(R[x].extension.phase, R[y].extension.phase); swap(R[x].extension.age, R[y].extension.age);
  swap(R[x].push, R[y].push); swap(R[x].pushAge, R[y].pushAge);
  swap(R[x].ticket, R[y].ticket); swap(R[x].expiry, R[y].expiry);
  swap(R[x].queued, R[y].queued); swap(R[x].arrival, R[y].arrival); swap(R[x].lease, R[y].lease);
#ifdef TIMED
  swap(R[x].asked, R[y].asked); swap(R[x].extended, R[y].extended);
#endif
  if
  :: staleOf == x -> staleOf = y
  :: staleOf == y -> staleOf = x
  :: else
  fi
}

inline inOrder(x, y) {
  if :: SHAPE(x) > SHAPE(y) -> swapRequests(x, y) :: else fi
}

/* Ends every step. */
inline settle() {
  check();
  normalise();
#ifndef LIVENESS
  inOrder(0, 1);
#endif
#if N == 3
  inOrder(1, 2);
#ifndef LIVENESS
  inOrder(0, 1);
#endif
#endif
  j = 0 /* a step may not end with a loop */
}

/* Idle requests are all alike, so it is enough that the first of them begins. */
#define CAN_BEGIN(x) (R[x].state == IDLE && MAY_BEGIN(R[x]))
#ifdef LIVENESS
#define FIRST_IDLE(x) (true) /* for there request 0 is told from the others */
#elif N == 2
#define FIRST_IDLE(x) (x == 0 || !CAN_BEGIN(0))
#else
#define FIRST_IDLE(x) (x == 0 || (!CAN_BEGIN(0) && (x == 1 || !CAN_BEGIN(1))))
#endif

proctype Process(byte i) {
end:
  do
  /* Semaphore.acquire */
  :: d_step {
       R[i].state == IDLE && MAY_BEGIN(R[i]) && FIRST_IDLE(i) ->
       R[i].state = WAIT; send(i); settle()
     }
  /* SemaphoreLink.#tryAgain */
  :: d_step {
       R[i].state == WAIT && R[i].try.phase == NONE && POLLS(i) && MAY_BEGIN(R[i]) ->
       send(i); settle()
     }
  /* Request.answer */
  :: d_step { R[i].try.phase == REPLIED -> receiveGrant(i, R[i].try); clear(R[i].try); settle() }
  :: d_step {
       staleOf == i && stale.phase == REPLIED ->
       receiveGrant(i, stale); clear(stale); staleOf = NOBODY; settle()
     }
  /* Request.takeGrant */
  :: d_step {
       R[i].push ->
#ifdef BREAK_CLAIM_COUNTED_FROM_GRANT
       hold(i, CLAIM);
#else
       if :: R[i].pushAge > 0 -> hold(i, R[i].pushAge) :: else -> R[i].push = 0 fi;
#endif
       settle()
     }
  /* Request.abandon */
  :: d_step { R[i].state == WAIT -> finish(i, REJECTED); giveBack(i); settle() }
  /* Lease.beat, Lease.renew */
  :: d_step {
       R[i].state == HELD && R[i].sure > 0 && R[i].extension.phase == NONE && MAY_EXTEND(R[i]) ->
       R[i].extension.phase = SENT; R[i].extension.age = TTL; EXTENDED(R[i]); settle()
     }
  /* Lease.#onExtended: a late reply shortens no lease; a lease that was lost withdraws its ticket */
  :: d_step {
       R[i].extension.phase == REPLIED ->
       if
       :: R[i].state == HELD ->
#ifdef BREAK_COUNTED_FROM_SENDING
          R[i].sure = TTL
#else
          if :: R[i].extension.age > R[i].sure -> R[i].sure = R[i].extension.age :: else fi
#endif
       :: R[i].state == OVER -> giveBack(i)
       :: else
       fi;
       clear(R[i].extension);
       settle()
     }
  /* Handle.release */
  :: d_step { R[i].state == HELD -> finish(i, OVER); giveBack(i); settle() }
  /* Lease.beat: the lease ran out. Its holder may never call release. */
  :: d_step { R[i].state == HELD && R[i].sure == 0 -> finish(i, OVER); settle() }
  /* It dies; what it sent is on its way. */
  :: d_step {
       R[i].state != IDLE && R[i].state != CRASHED && MAY_CRASH ->
       COUNT_CRASH;
       finish(i, CRASHED);
       R[i].since = 0; R[i].returning = 0; R[i].stray = 0;
       if :: R[i].try.phase == REPLIED -> clear(R[i].try) :: else fi;
       if :: R[i].extension.phase == REPLIED -> clear(R[i].extension) :: else fi;
       if :: staleOf == i && stale.phase == REPLIED -> clear(stale); staleOf = NOBODY :: else fi;
       settle()
     }
  od
}

/* What i sent reaches the server, or is lost. */
proctype Wire(byte i) {
end:
  do
  :: d_step { R[i].try.phase == SENT -> runTry(i, R[i].try, 1); settle() }
  :: d_step { R[i].try.phase == SENT && MAY_FAIL -> FAIL; runTry(i, R[i].try, 0); settle() }
  :: d_step {
       R[i].try.phase != NONE && MAY_FAIL ->
       FAIL; strayIfUnread(i, R[i].try); clear(R[i].try); settle()
     }
  /* withinLimit gave it up, or a client library sent it twice */
  :: d_step {
       R[i].try.phase != NONE && staleOf == NOBODY && MAY_FAIL ->
       FAIL; copy(R[i].try, stale); staleOf = i; clear(R[i].try); settle()
     }
  :: d_step {
       R[i].try.phase == SENT && staleOf == NOBODY && MAY_FAIL ->
       FAIL; copy(R[i].try, stale); staleOf = i; settle()
     }
  :: d_step {
       staleOf == i && stale.phase == SENT ->
       runTry(i, stale, 1); if :: stale.phase == NONE -> staleOf = NOBODY :: else fi; settle()
     }
  :: d_step {
       staleOf == i && stale.phase == SENT ->
       runTry(i, stale, 0); staleOf = NOBODY; clear(stale); settle()
     }
  :: d_step { staleOf == i -> strayIfUnread(i, stale); clear(stale); staleOf = NOBODY; settle() }
  /* Pushes may be lost at no cost. */
  :: d_step { R[i].push -> R[i].push = 0; R[i].pushAge = 0; settle() }
  :: d_step {
       R[i].extension.phase == SENT ->
       extend(i);
       if
       :: had && R[i].state != CRASHED -> R[i].extension.phase = REPLIED
       :: else ->
          clear(R[i].extension);
          if :: !had && R[i].state == HELD -> finish(i, OVER) :: else fi
       fi;
       settle()
     }
  :: d_step {
       R[i].extension.phase == SENT && MAY_FAIL ->
       FAIL; extend(i); clear(R[i].extension); settle()
     }
  :: d_step { R[i].extension.phase != NONE && MAY_FAIL -> FAIL; clear(R[i].extension); settle() }
  :: d_step { R[i].returning -> release(i); R[i].returning = 0; settle() }
  :: d_step { R[i].returning && MAY_FAIL -> FAIL; release(i); settle() }
#ifdef BREAK_RETRIED_WITHDRAWAL
  :: d_step { R[i].returning && MAY_FAIL -> FAIL; R[i].returning = 0; settle() }
#endif
  od
}

inline tick(keep) {
  for (j : 0 .. N - 1) {
    if :: R[j].sure > 0 -> R[j].sure-- :: else fi;
    if :: R[j].since > 0 -> R[j].since-- :: else fi;
    if :: R[j].try.age > 0 -> R[j].try.age-- :: else fi;
    if :: R[j].extension.age > 0 -> R[j].extension.age-- :: else fi;
    if :: R[j].pushAge > 0 -> R[j].pushAge-- :: else fi;
    if :: R[j].expiry > 0 && R[j].expiry != FOR_EVER -> R[j].expiry-- :: else fi;
    if :: R[j].lease > 0 && !(keep && R[j].state == REJECTED) -> R[j].lease-- :: else fi;
#ifdef TIMED
    R[j].asked = 0
#endif
  };
  if :: stale.age > 0 -> stale.age-- :: else fi
}

#ifdef TIMED
/* Replies, pushes, releases and tries come sooner than the next tick. */
#define DUE(x) (R[x].try.phase || R[x].extension.phase || R[x].returning || R[x].push || \
  (R[x].state == WAIT && POLLS(x) && !R[x].asked))
#if N == 2
#define ALL_DONE (!DUE(0) && !DUE(1))
#else
#define ALL_DONE (!DUE(0) && !DUE(1) && !DUE(2))
#endif
#else
#define ALL_DONE (true)
#endif

#define STRAYS(x) (R[x].state == REJECTED && R[x].queued)
#if N == 2
#define STRAY_IN_QUEUE (STRAYS(0) || STRAYS(1))
#else
#define STRAY_IN_QUEUE (STRAYS(0) || STRAYS(1) || STRAYS(2))
#endif

proctype Clock() {
end:
  do
  :: d_step { ALL_DONE -> tick(0); settle() }
  /* A withdrawn request that came back: others of its process renew its lease, by tries, which serve. */
  :: d_step {
       ALL_DONE && STRAY_IN_QUEUE ->
       tick(1); purge(); me = NOBODY; serve(); checkServed(); settle()
     }
#ifdef TIMED
  :: d_step { !ALL_DONE && MAY_FAIL -> FAIL; tick(0); settle() }
#endif
  od
}

init {
  atomic {
    run Clock();
    for (j : 0 .. N - 1) { run Process(j); run Wire(j) }
  }
}

#ifdef LIVENESS
ltl served { [] (R[0].state == WAIT -> <> (R[0].state != WAIT)) }
#define ENDED (R[0].state == REJECTED || R[0].state == OVER)
ltl gone { [] (ENDED -> <> (!ENDED ||
  !((R[0].ticket && R[0].expiry > 0) || (R[0].queued && R[0].lease > 0)))) }
#endif
