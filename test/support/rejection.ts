import { expect } from 'chai';

type ErrorClass<E> = abstract new (...args: never[]) => E;

/** The reason with which `promise` rejects. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (reason) {
    return reason;
  }
  throw new Error(`expected a rejection, got ${String(value)}`);
}

/** The error of that class with which `promise` rejects. */
export async function errorOf<E>(promise: Promise<unknown>, type: ErrorClass<E>): Promise<E> {
  const reason = await reasonOf(promise);
  expect(reason).to.be.instanceOf(type);
  return reason as E;
}
