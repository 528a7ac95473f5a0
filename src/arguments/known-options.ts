import { formatValue, shown } from './shown.js';
import { checkType, isObject, typeError } from './validation.js';

/** The names of the options that a call takes, with spaces between them if they are a text. */
export type OptionNames = string | readonly string[];

export const SEMAPHORE_OPTIONS =
  'limit ttl extendEvery retry prefix label replicas maxWaiting rate budgets groupLimit keeper clock';
/** The options of an `acquire` of several at once. */
export const DEADLINE_OPTIONS = 'timeout signal';
/** The options of an `acquire` without `permits`. */
export const WAIT_OPTIONS = 'timeout signal group weight priority cost onWaiting';
// Lists, because to split a text takes longer than to check the options of an `acquire`.
export const ACQUIRE_OPTIONS: readonly string[] = [...WAIT_OPTIONS.split(' '), 'permits'];
export const TRY_OPTIONS: readonly string[] = ['permits', 'group', 'cost'];

/** The names of options in other packages, in lower case, and our names for them. */
const ALIASES: Readonly<Record<string, string>> = {
  ttl: 'locktimeout expiry expire expires expiresin lease leasetime leasems duration',
  extendEvery: 'refreshinterval refresh renewevery heartbeat automaticextensionthreshold',
  timeout: 'acquiretimeout waittimeout maxwait waittime wait acquireattemptslimit retrycount',
  retry: 'retryinterval retrydelay retryjitter backoff',
  limit: 'concurrency maxconcurrent maxconcurrency max capacity',
  prefix: 'keyprefix namespace',
  label: 'identifier owner holder',
  permits: 'count tokens units',
  rate: 'ratelimit limiter reservoir mintime',
  budgets: 'budget quotas',
  groupLimit: 'pergroup maxpergroup grouplimits concurrencypergroup',
  cost: 'costs price',
  maxWaiting: 'maxqueue maxqueued maxqueuesize maxpending queuelimit queuesize highwater',
  group: 'tenant tenantid groupid',
  priority: 'prio',
  onWaiting: 'onqueued onwait onprogress onposition',
  signal: 'abort abortsignal cancel',
};

/** The same for the option `rate`. */
const RATE_ALIASES: Readonly<Record<string, string>> = {
  permits: 'limit max count tokens points amount requests',
  per: 'interval window period duration every time timeout ttl',
  burst: 'capacity bucket maxburst',
};

/**
 * Refuses a value that is no object, and an option that the call does not take: a misspelled option
 * would have no effect.
 * @param names the options that the call takes
 * @param argument the name of the object in messages
 * @param expected for the message: the value that the call expects
 * @throws {TypeError} that names the option and suggests the nearest known name
 */
export function checkOptions(
  options: object,
  names: OptionNames,
  argument = 'options',
  expected = 'an object',
): void {
  checkType(isObject(options), argument, expected, options);
  const known = typeof names === 'string' ? names.split(' ') : names;
  // No array of keys is made, because every `acquire` comes here.
  for (const option in options) {
    if (known.includes(option) || !Object.hasOwn(options, option)) continue;
    const value: unknown = Reflect.get(options, option);
    const where = argument === 'options' ? '' : `${argument}.`;
    // A value that was meant for a client may be a password.
    const isSecret = /pass|secret|token|auth|cred|key$/i.test(option);
    const got = isSecret ? `a ${typeof value}` : formatValue(value);
    throw typeError(
      `${where}${shown(option)}: expected no option of this name (${hintFor(option, known, argument)}), got ${got}`,
    );
  }
}

/** Suggests the name that the caller may have meant. */
function hintFor(option: string, known: readonly string[], argument: string): string {
  const ofRate = argument === 'rate' ? nameIn(RATE_ALIASES, option) : undefined;
  if (ofRate !== undefined) return `did you mean rate.${ofRate}?`;
  const call = callWith(option);
  if (call !== undefined) return `it is an option of ${call}`;
  const meant = nameIn(ALIASES, option) ?? nearest(option, known);
  if (meant === undefined) return `one of ${known.join(', ')}`;
  if (known.includes(meant)) return `did you mean ${meant}?`;
  return `did you mean ${meant}, an option of ${callWith(meant)}?`;
}

/** The call that takes the option. */
function callWith(option: string): string | undefined {
  if (SEMAPHORE_OPTIONS.split(' ').includes(option)) return 'the constructor';
  return ACQUIRE_OPTIONS.includes(option) ? 'acquire' : undefined;
}

/** Our name for an option of another package. */
function nameIn(aliases: Readonly<Record<string, string>>, option: string): string | undefined {
  const alias = option.toLowerCase();
  return Object.keys(aliases).find((name) => aliases[name]?.split(' ').includes(alias));
}

/** The known name with the fewest typing mistakes, if they are few. */
export function nearest(option: string, known: readonly string[]): string | undefined {
  const most = Math.max(2, Math.floor(option.length / 3));
  const mistakesIn = (name: string) => editDistance(option.toLowerCase(), name.toLowerCase());
  const ranked = known.map((name) => ({ name, mistakes: mistakesIn(name) }));
  const close = ranked.filter((one) => one.mistakes <= Math.min(most, one.name.length - 1));
  return close.toSorted((one, other) => one.mistakes - other.mistakes)[0]?.name;
}

/** Levenshtein's distance: how many letters to insert, delete or change. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const changed = (above[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      row.push(Math.min(changed, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[other.length] ?? 0;
}
