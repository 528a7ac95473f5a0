import * as fc from 'fast-check';

const TIME = 1_700_000_000_000_000;
const digits = fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String);
const oddText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.stringMatching(/^[-0-9 ,;|rqbl~%.]{0,20}$/),
  fc.constantFrom('NaN', 'Infinity', '-1', '1e400', '%', '%zz', '\0', 'undefined'),
);
const id = fc.oneof(fc.constantFrom('a.1', 'b.2.3', 'c.4~a.1', 'a', '.', ''), oddText);
const range = fc.tuple(fc.nat(10), fc.oneof(fc.nat(10), fc.constant(2 ** 33), digits));
const slots = fc.oneof(
  fc.nat(9).map(String),
  fc.array(fc.nat(9)).map((list) => list.join(',')),
  range.map(([from, to]) => `${from}-${to}`),
  oddText,
);
const number = fc.oneof(fc.constantFrom(`${TIME}`, `${TIME + 1}`, '0'), digits, oddText);
const head = fc.oneof(
  { arbitrary: fc.constantFrom(`${TIME}`, `${TIME} stored 3`, `${TIME} other 7`), weight: 8 },
  { arbitrary: fc.constantFrom(`${TIME} stored 0`, `${TIME} other`, ''), weight: 1 },
  { arbitrary: number, weight: 1 },
);

/** `id slots token expiry`, more or less. */
const grant = fc.tuple(id, slots, number, number).map((parts) => parts.join(' '));
const verdict = fc.oneof(
  fc.constantFrom('b', 'l', '1', '0', 'r', ''),
  fc.tuple(slots, number).map((parts) => parts.join(' ')),
  number.map((arrival) => `q${arrival}`),
  grant,
  oddText,
);
const section = fc.oneof(
  fc.array(verdict, { minLength: 0, maxLength: 3 }).map((list) => list.join(';')),
  fc.constantFrom('', '0', `${TIME}`),
);

/** Almost what some script sends. */
const nearly = fc
  .tuple(head, fc.array(section, { minLength: 0, maxLength: 5 }))
  .map(([first, rest]) => [first, ...rest].join('|'));

const huge = fc
  .tuple(nearly, fc.constantFrom('0', ';', '|', ' ', '1,', 'a.1 0 1 1;'))
  .map(([text, filling]) => text + filling.repeat(100_000));

const failures = fc.oneof(
  fc
    .constantFrom(
      'NOSCRIPT no',
      'WRONGTYPE no',
      'ERR no',
      'LOADING wait',
      'READONLY no',
      'MOVED',
      '',
    )
    .map((message) => new Error(message)),
  fc.constant(new TypeError('a defect in a client')),
);

/** What a call of a misbehaving connection comes to: something that it resolves, rejects or throws with. */
export interface Outcome {
  readonly how: 'resolve' | 'reject' | 'throw' | 'hang';
  readonly what: unknown;
}

export const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  { arbitrary: outcome('resolve', nearly), weight: 12 },
  { arbitrary: outcome('resolve', fc.anything()), weight: 3 },
  { arbitrary: outcome('resolve', huge), weight: 1 },
  { arbitrary: outcome('reject', fc.oneof(failures, fc.anything())), weight: 3 },
  { arbitrary: outcome('throw', failures), weight: 1 },
  { arbitrary: outcome('hang', fc.constant(undefined)), weight: 1 },
);

export const messages: fc.Arbitrary<string> = fc.oneof(
  fc.array(grant, { maxLength: 3 }).map((list) => list.join(';')),
  fc.tuple(id, fc.constantFrom('revoked', 'adopted', '')).map((parts) => parts.join(' ')),
  nearly,
  oddText,
);

function outcome(how: Outcome['how'], values: fc.Arbitrary<unknown>): fc.Arbitrary<Outcome> {
  return values.map((what) => ({ how, what }));
}
