import type { Fault } from '../checker/run-record.js';
import { boxOf, type DrawingApi, LEFT, TOP } from './drawing.js';

const FAULT_COLOUR = '#dc2626';

/**
 * With more faults than that in a picture, bands with their names would cover each other: each kind
 * has a lane then.
 */
const NAMED = 40;

/** Where the lanes are. */
const LANES = { from: 40, to: TOP - 6 };

type Place = (moment: number) => number;

/** When faults struck; `height` is that of all that they strike. */
export function faultSeries(faults: readonly Fault[], seconds: Place, height: number): object {
  return {
    type: 'custom',
    data: [[0, 0]],
    renderItem: (_params: object, api: DrawingApi) => {
      const left: Place = (at) => api.coord([seconds(at), 0])[0];
      const children = faults.length > NAMED ? lanes(faults, left) : bands(faults, left, height);
      return { type: 'group', children };
    },
  };
}

/**
 * Bands over everything for faults that last, lines for those that strike, each with its name
 * above.
 */
function bands(faults: readonly Fault[], left: Place, height: number): object[] {
  const labels = faults.map((fault) => {
    const style = { text: describe(fault), fontSize: 9, fill: FAULT_COLOUR };
    const at = { x: left(fault.from) + 4, y: TOP - 4, rotation: Math.PI / 3 };
    return { type: 'text', ...at, style: { ...style, verticalAlign: 'middle' } };
  });
  return [boxes(faults, left, { y: TOP, height, opacity: 0.16 }), ...labels];
}

function lanes(faults: readonly Fault[], left: Place): object[] {
  const kinds = [...new Set(faults.map(({ kind }) => kind))].toSorted();
  const height = (LANES.to - LANES.from) / kinds.length;
  return kinds.flatMap((kind, lane) => {
    const y = LANES.from + lane * height;
    const own = faults.filter((fault) => fault.kind === kind);
    const style = { text: kind, fontSize: Math.min(9, height + 2), fill: FAULT_COLOUR };
    const at = { x: LEFT - 6, y: y + height / 2 };
    return [
      boxes(own, left, { y, height: height - 1, opacity: 0.8 }),
      { type: 'text', ...at, style: { ...style, align: 'right', verticalAlign: 'middle' } },
    ];
  });
}

function boxes(
  faults: readonly Fault[],
  left: Place,
  { y, height, opacity }: { y: number; height: number; opacity: number },
): object {
  const parts = faults.map(({ from, to }) =>
    boxOf(Math.round(left(from)), y, Math.max(Math.round(left(to) - left(from)), 1), height),
  );
  const style = { fill: FAULT_COLOUR, opacity };
  return { type: 'path', shape: { pathData: parts.join('') }, style };
}

function describe({ kind, step, key, node, targets }: Fault): string {
  const details = [
    node === undefined ? undefined : `node ${node}`,
    step === undefined ? undefined : `${step / 1000} s`,
    key,
    targets?.join(' '),
  ];
  return [kind, ...details.filter((part) => part !== undefined)].join(' ');
}
