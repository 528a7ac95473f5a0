import { expect } from 'chai';

/** A value that is refused, by which class of error, and how its message shows it. */
export type BadValue = readonly [
  value: unknown,
  type: TypeErrorConstructor | RangeErrorConstructor,
  shown: string,
];

/** `error` is of that class and names option, expectation and value. */
export function expectRefusal(error: unknown, option: string, bad: BadValue): void {
  const [, type, shown] = bad;
  const which = `${option} ${shown}`;
  expect(error, which).to.be.instanceOf(type);
  const { message } = error as Error;
  const match = /^([\w.]+): expected (.+), got (.+)$/s.exec(message);
  expect(match?.[1], `option in ${JSON.stringify(message)}`).to.equal(option);
  expect(match?.[3], `value in ${JSON.stringify(message)}`).to.include(shown);
}

/** What `act` throws, at once. */
export function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
