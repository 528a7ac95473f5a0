export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Spans of time, to be asked which of them touch a moment or another span without looking at all of
 * them.
 */
export class SpanIndex<T extends Span> {
  readonly #spans: readonly T[];
  /** The latest end among the spans up to each one: an earlier span may outlast a later one. */
  readonly #latest: readonly number[];

  constructor(spans: Iterable<T>) {
    this.#spans = [...spans].toSorted((a, b) => a.from - b.from);
    let latest = -Infinity;
    this.#latest = this.#spans.map(({ to }) => (latest = Math.max(latest, to)));
  }

  /** The spans that have a moment in common with `from` to `to`, both included. */
  *touching(from: number, to: number): Generator<T> {
    for (let i = this.#firstEndingAfter(from); i < this.#spans.length; i += 1) {
      const span = this.#spans[i];
      if (span === undefined || span.from > to) return;
      if (span.to >= from) yield span;
    }
  }

  touches(from: number, to: number): boolean {
    return this.touching(from, to).next().done === false;
  }

  #firstEndingAfter(moment: number): number {
    let low = 0;
    let high = this.#latest.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#latest[middle] ?? Infinity) < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
