import type { Judge } from './judge.js';
import type { Killing } from './kill-a-holder.js';

export interface Facts {
  readonly backend: string;
  readonly crew: string;
  readonly workers: number;
  readonly judge: Judge;
  /** `none`: workers in one process cannot be killed one by one. */
  readonly killing: Killing | 'none' | undefined;
  readonly lost: number;
  readonly problems: readonly string[];
}

export interface Proof {
  readonly lines: readonly string[];
  readonly holds: boolean;
}

export function prove(facts: Facts): Proof {
  const { judge, killing } = facts;
  const judged = judge.violations();
  const violations = [...judged, ...killingViolations(killing), ...facts.problems];
  const holds = violations.length === 0;
  return {
    lines: [
      '--- proof ---',
      `backend: ${facts.backend}`,
      `workers: ${facts.crew}; ${judge.workersServed} of ${facts.workers} were served`,
      `requests served: ${judge.served}`,
      ...(judged.length === 0 ? judgement(judge) : []),
      ...(facts.lost === 0 ? [] : [`permits lost by live workers: ${facts.lost}`]),
      killingLine(killing),
      ...violations.map((violation) => `VIOLATED: ${violation}`),
      holds ? 'result: ok (exit code 0)' : 'result: FAILED (exit code 1)',
    ],
    holds,
  };
}

function judgement(judge: Judge): string[] {
  const { peak, allowed, slotsSeen } = judge;
  const slots = slotsSeen.join(', ');
  return [
    `peak in flight: ${peak} of ${allowed} allowed, never ${allowed + 1} (the HTTP server's own count)`,
    `slots: ${slots}; no two requests in flight had the same`,
    `fencing tokens: rose with every request in every slot`,
  ];
}

function killingLine(killing: Facts['killing']): string {
  if (killing === 'none') return 'killed worker: none (that needs a server: see --help)';
  if (killing === undefined) return 'killed worker: none';
  const { worker, slot, ttl, backAfter } = killing;
  const back = backAfter === undefined ? 'not back' : `back after ${Math.round(backAfter)} ms`;
  return `killed worker: ${worker} (SIGKILL, slot ${slot}); permit ${back} (ttl ${ttl} ms)`;
}

function killingViolations(killing: Facts['killing']): string[] {
  if (killing === 'none') return [];
  if (killing === undefined) return ['no worker held a permit when one was to be killed'];
  return killing.backAfter === undefined
    ? [`the permit of killed worker ${killing.worker} did not come back`]
    : [];
}
