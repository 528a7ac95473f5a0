import type { RequestOrder } from './backend.js';

/** Of a request without options. */
export const NO_ORDER: RequestOrder = { priority: 0, weight: 1, group: '' };

/** How far apart the virtual times of two priorities are; as `order.lua` has it. */
const BAND = 1.4e14;

/** What a request waits with, as far as it decides when it is granted. */
export interface Standing {
  readonly arrival: number;
  readonly permits: number;
  readonly order: RequestOrder;
  /** Of the first of its flow: its virtual start. */
  readonly start: number | undefined;
  /** It asks for more than the limit, and waits aside. */
  readonly parked: boolean;
  /** Its client is alive. */
  readonly living: boolean;
}

/** Where the virtual time of a priority begins. */
export function bandOf({ priority }: RequestOrder): number {
  return (9 - priority) * BAND;
}

/** By how much a grant moves the virtual time of its flow. */
export function costOf(permits: number, { weight }: RequestOrder): number {
  return Math.floor((permits * 1_000_000) / weight);
}

/**
 * Requests of one flow take turns with those of others; within it they come in order of arrival.
 */
export function flowOf({ priority, group }: RequestOrder): string {
  return `${priority} ${group}`;
}

/**
 * Those who live, in the order in which they will be granted; at the end those that ask for more
 * than the limit.
 */
export function inOrderOfGrants<S extends Standing>(all: readonly S[]): S[] {
  const flows = new Map<string, S[]>();
  const starts = new Map<S, number>();
  for (const one of all) {
    const flow = flows.get(flowOf(one.order)) ?? [];
    flow.push(one);
    flows.set(flowOf(one.order), flow);
    if (one.parked) starts.set(one, Infinity);
  }
  for (const flow of flows.values()) {
    flow.sort((one, other) => one.arrival - other.arrival);
    let start: number | undefined;
    for (const one of flow) {
      if (one.parked) continue;
      start ??= bandOf(one.order) + (one.start ?? 0);
      starts.set(one, start);
      if (one.living) start += costOf(one.permits, one.order);
    }
  }
  const startOf = (one: S): number => starts.get(one) ?? Infinity;
  return all
    .filter(({ living }) => living)
    .toSorted((one, other) => {
      const [before, after] = [startOf(one), startOf(other)];
      return before === after ? one.arrival - other.arrival : before - after;
    });
}
