/*
 * The order of the queue: priority, then the tag, then arrival. README.md in this folder says what is
 * modelled. One server, no faults: what a fault does to a request (dropped, withdrawn, back in its old place) is
 * in semaphore.pml; here a request arrives, is withdrawn or is granted, in any order.
 *
 * Flows 0 and 1 have priority 0 and weights 1 and 2; flow 2 has a higher priority. BREAK_...: leaves that rule
 * out, which shows what it is needed for.
 */
#define LIMIT 2
#define MOST 2         /* requests of a flow that wait */
#define HALVES 2       /* virtual time counts in halves of a permit of weight 1 */
#define NOBODY 7

typedef Flow {
  byte waiting;
  byte permits[MOST];  /* in order of arrival */
  short tag;           /* of the first, counted from the virtual time */
  short saved;         /* start of the next one, where idle groups save up */
  byte passed;         /* grants to the other flow of its priority since the first has its start */
  byte weight;
  bit urgent
};

Flow F[3];
byte free = LIMIT;
/* By how much flow 0 got more than flow 1, for its weight, since both have been waiting. */
short lead01;

hidden byte i, k, first, unfair, overtaken, demoted, starved;
hidden short cost, by;

/* The first of the queue. Where tags are equal, any: the real order, by arrival, is one of these. */
inline findFirst() {
  first = NOBODY;
  for (k : 0 .. 2) {
    if
    :: F[k].waiting == 0
    :: F[k].waiting > 0 && first == NOBODY -> first = k
    :: F[k].waiting > 0 && first != NOBODY ->
#ifndef BREAK_PRIORITY
       if
       :: F[k].urgent > F[first].urgent -> first = k
       :: F[k].urgent < F[first].urgent
       :: F[k].urgent == F[first].urgent ->
#endif
          if
          :: F[k].tag < F[first].tag -> first = k
          :: F[k].tag > F[first].tag
          :: F[k].tag == F[first].tag -> if :: first = k :: skip fi
          fi
#ifndef BREAK_PRIORITY
       fi
#endif
    fi
  }
}

/* Of the first of a flow. */
inline costOf(f) {
#ifdef BREAK_WEIGHT
  cost = F[f].permits[0] * HALVES
#else
  cost = F[f].permits[0] * HALVES / F[f].weight
#endif
}

/* Another request is the first of its flow: tags are given to that one alone, when it becomes that. */
inline lead(f, start) {
  if
  :: F[f].waiting > 0 -> costOf(f); F[f].tag = start + cost
  :: else -> F[f].tag = 0; F[f].passed = 0
  fi
}

inline drop(f, place) {
  for (k : place .. MOST - 2) { F[f].permits[k] = F[f].permits[k + 1] };
  F[f].permits[MOST - 1] = 0;
  F[f].waiting--;
  if :: F[0].waiting == 0 || F[1].waiting == 0 -> lead01 = 0 :: else fi
}

inline arrive(f, permitsWanted) {
  F[f].permits[F[f].waiting] = permitsWanted;
  F[f].waiting++;
  if :: F[f].waiting == 1 -> lead(f, F[f].saved); F[f].saved = 0 :: else fi
}

/* The next of its flow takes over its start. */
inline withdraw(f) {
  costOf(f);
#ifdef BREAK_NO_HOLES
  /* As with tags that are given on arrival: those behind wait as if it had been granted. */
  by = F[f].tag;
#else
  by = F[f].tag - cost;
#endif
  drop(f, 0);
  /* What a request waited for that is withdrawn, its flow does not get. */
  if :: f < 2 -> lead01 = 0 :: else fi;
  lead(f, by)
}

/* The virtual time is the tag of the last grant of its priority. */
inline advance(f) {
  for (k : 0 .. 2) {
    if
    :: F[k].urgent == F[f].urgent && k != f ->
       if
       :: F[k].waiting > 0 -> F[k].tag = F[k].tag - by; F[k].passed++
       :: else ->
#ifdef BREAK_NO_SAVING
          F[k].saved = (F[k].saved - by < -12 -> -12 : F[k].saved - by)
#else
          skip
#endif
       fi
    :: else
    fi
  }
}

inline grant(f) {
  costOf(f);
  free = free - F[f].permits[0];
  if
  :: f < 2 && F[0].waiting > 0 && F[1].waiting > 0 ->
     i = F[f].permits[0] * HALVES / F[f].weight;
     lead01 = (f == 0 -> lead01 + i : lead01 - i)
  :: else
  fi;
  /* Two permits of weight 1, and two of weight 2. */
  unfair = (lead01 > 6 || lead01 < -6);
  assert(unfair == 0);
  demoted = 0; overtaken = 0; starved = 0;
  for (k : 0 .. 2) {
    if
    :: F[k].waiting > 0 && F[k].urgent > F[f].urgent -> demoted++
    :: F[k].waiting > 0 && F[k].urgent == F[f].urgent && F[k].tag < F[f].tag -> overtaken++
    :: else
    fi
  };
  assert(demoted == 0);
  assert(overtaken == 0);
#ifdef BREAK_VIRTUAL_TIME
  /* The start of the last grant: a flow that comes back while others stay starts there, too. */
  by = F[f].tag - cost;
#else
  by = F[f].tag;
#endif
  by = (by < 0 -> 0 : by);
  advance(f);
  /* One at any tag, and then one for each of its least cost: 1 of flow 1, 2 of flow 0. */
  starved = (F[0].passed > 1 + 4 || F[1].passed > 1 + 1);
  assert(starved == 0);
  by = F[f].tag - by;
  F[f].passed = 0;
  drop(f, 0);
#if defined(BREAK_VIRTUAL_TIME) || defined(BREAK_NO_SAVING)
  /* The next one starts where this one ends, however far behind virtual time that is. */
  lead(f, by)
#else
  lead(f, 0)
#endif
}

/* The first that does not fit keeps those behind it waiting. */
inline serve() {
  do
  :: true ->
     findFirst();
     if
     :: first == NOBODY -> break
     :: first != NOBODY && F[first].permits[0] <= free -> grant(first)
     :: first != NOBODY && F[first].permits[0] > free ->
#ifdef BREAK_BLOCKING
        first = NOBODY;
        for (i : 0 .. 2) {
          if :: F[i].waiting > 0 && F[i].permits[0] <= free -> first = i :: else fi
        };
        if :: first == NOBODY -> break :: else -> grant(first) fi
#else
        break
#endif
     fi
  od
}

inline join(f) {
  if :: arrive(f, 1) :: arrive(f, 2) fi;
  serve()
}

inline giveUp(f) {
  if
  :: withdraw(f)
  :: F[f].waiting > 1 -> drop(f, F[f].waiting - 1)
  fi;
  serve()
}

init {
  d_step { F[0].weight = 1; F[1].weight = 2; F[2].weight = 1; F[2].urgent = 1 };
  do
  :: atomic { F[0].waiting < MOST -> join(0) }
  :: atomic { F[1].waiting < MOST -> join(1) }
  :: atomic { F[2].waiting < MOST -> join(2) }
  :: atomic { F[0].waiting > 0 -> giveUp(0) }
  :: atomic { F[1].waiting > 0 -> giveUp(1) }
  :: atomic { F[2].waiting > 0 -> giveUp(2) }
  :: atomic { free < LIMIT -> free++; serve() }
  od
}
