import type { Detail, SlotState } from '../../api-types.js';
import { change } from './requests.js';
import type { Question } from './confirmation.js';
import { count, plural } from './format.js';

export function askForLimit({ row }: Detail, start: number): Question {
  const { name, held, waiting } = row;
  return {
    title: `Set the limit of ${name}`,
    limit: start,
    effects: (limit) => [
      ...limitEffects(limit, held, waiting),
      'It counts for every process from its next call on, whatever limit its code gives, and is kept until a day after the last use.',
    ],
    button: 'Set limit',
    act: async (limit) => {
      await change('limit', { name, limit });
      return `${name}: the limit is ${count(limit)} now.`;
    },
  };
}

function limitEffects(limit: number, held: number, waiting: number): readonly string[] {
  if (limit === 0) return pauseEffects(held, waiting);
  if (limit < held) {
    return [
      `Holders keep their permits: ${count(held)} are held now, and no request gets a permit until fewer than ${count(limit)} are held.`,
    ];
  }
  const room = limit - held;
  if (room === 0) return [`All ${plural(limit, 'permit')} are held: requests wait for a release.`];
  if (waiting === 0) return [`${plural(room, 'permit')} will be free; no request waits now.`];
  return [`At most ${plural(Math.min(room, waiting), 'waiting request')} will be granted at once.`];
}

function pauseEffects(held: number, waiting: number): readonly string[] {
  const holders =
    held === 0
      ? 'No permit is held now.'
      : `The ${plural(held, 'permit')} held now may be kept until they are released.`;
  const queue =
    waiting === 0 ? 'New requests wait' : `${plural(waiting, 'request')} and new ones wait`;
  return [
    'No request gets a permit until you set another limit.',
    holders,
    `${queue}, each until its own timeout.`,
  ];
}

export function askToPause({ row }: Detail): Question {
  const { name, held, waiting } = row;
  return {
    title: `Pause ${name}`,
    effects: () => pauseEffects(held, waiting),
    button: 'Pause',
    isDangerous: true,
    act: async () => {
      await change('pause', { name });
      return `${name} is paused.`;
    },
  };
}

export function askToRevoke(detail: Detail, { holderId, label }: SlotState): Question {
  const { name } = detail.row;
  const slots = detail.slots.filter((each) => each.holderId === holderId).map(({ slot }) => slot);
  const [next] = detail.queue;
  const heir =
    next === undefined
      ? 'No request waits: the permit will be free.'
      : `Next in the queue: ${next.label}, for ${plural(next.permits, 'permit')}.`;
  return {
    title: `Revoke ${slots.length === 1 ? 'slot' : 'slots'} ${slots.join(', ')} of ${name}`,
    effects: () => [
      `${label} loses ${slots.length === 1 ? 'its permit' : `its ${count(slots.length)} permits`} (ticket ${holderId}).`,
      'Its handle is lost and its signal aborts. Work that does not look at them runs on without a permit.',
      heir,
    ],
    button: 'Revoke',
    isDangerous: true,
    act: async () => {
      const changed = await change('revoke', { name, ticketId: holderId });
      return changed ? `${label} has lost its permit.` : `${label} had released it already.`;
    },
  };
}
