/*
 * The order of the queue: priority, then virtual start, then arrival. README.md in this folder says what is
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
  short start;         /* virtual start of the first, counted from the virtual time */
  short finish;        /* of the last one granted; 0: forgotten */
  byte weight;
  bit urgent
};

Flow F[3];
byte free = LIMIT;
/* By how much flow 0 got more than flow 1, for its weight, since both have been waiting. */
short lead;

hidden byte i, k, first, unfair, overtaken, demoted, cost;

/* The first of the queue. Where starts are equal, any: the real order, by arrival, is one of these. */
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
          :: F[k].start < F[first].start -> first = k
          :: F[k].start > F[first].start
          :: F[k].start == F[first].start -> if :: first = k :: skip fi
          fi
#ifndef BREAK_PRIORITY
       fi
#endif
    fi
  }
}

/* Tags are given to the first of a flow, when it becomes that. */
inline costOf(f) {
#ifdef BREAK_WEIGHT
  cost = F[f].permits[0] * HALVES
#else
  cost = F[f].permits[0] * HALVES / F[f].weight
#endif
}

inline leave(f, place) {
  for (k : place .. MOST - 2) { F[f].permits[k] = F[f].permits[k + 1] };
  F[f].permits[MOST - 1] = 0;
  F[f].waiting--;
  if :: F[f].waiting == 0 -> F[f].start = 0 :: else fi;
  if :: F[0].waiting == 0 || F[1].waiting == 0 -> lead = 0 :: else fi
}

inline arrive(f, permitsWanted) {
  F[f].permits[F[f].waiting] = permitsWanted;
  F[f].waiting++;
  if :: F[f].waiting == 1 -> F[f].start = F[f].finish; F[f].finish = 0 :: else fi
}

inline withdraw(f, place) {
  costOf(f);
#ifdef BREAK_NO_HOLES
  /* As with tags that are given on arrival: those behind wait as if it had been granted. */
  F[f].start = F[f].start + cost;
#endif
  if
  :: F[f].waiting == 1 -> F[f].finish = F[f].start
  :: else
  fi;
  leave(f, place)
}

/* The virtual time is the start of the last grant of its priority: what is finished by then is forgotten. */
inline advance(f, by) {
  for (k : 0 .. 2) {
    if
    :: F[k].urgent == F[f].urgent && k != f ->
       if
       :: F[k].waiting > 0 -> F[k].start = F[k].start - by
       :: else ->
#ifdef BREAK_NO_SAVING
          F[k].finish = (F[k].finish - by < -12 -> -12 : F[k].finish - by)
#else
          F[k].finish = (F[k].finish < by -> 0 : F[k].finish - by)
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
     lead = (f == 0 -> lead + i : lead - i)
  :: else
  fi;
  /* Two permits of weight 1, and two of weight 2. */
  unfair = (lead > 6 || lead < -6);
  assert(unfair == 0);
  demoted = 0; overtaken = 0;
  for (k : 0 .. 2) {
    if
    :: F[k].waiting > 0 && F[k].urgent > F[f].urgent -> demoted++
    :: F[k].waiting > 0 && F[k].urgent == F[f].urgent && F[k].start < F[f].start -> overtaken++
    :: else
    fi
  };
  assert(demoted == 0);
  assert(overtaken == 0);
  advance(f, F[f].start);
  if
  :: F[f].waiting > 1 -> F[f].start = cost
  :: else -> F[f].finish = cost
  fi;
  leave(f, 0)
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
  :: withdraw(f, 0)
  :: F[f].waiting > 1 -> leave(f, F[f].waiting - 1)
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
