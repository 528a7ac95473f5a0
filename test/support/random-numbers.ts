/** Random numbers that come again with the same seed (mulberry32). */
export class RandomNumbers {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** 0 ≤ x < 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer, `from` and `to` included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.between(0, list.length - 1)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  some<T>(list: readonly T[], probability: number): T[] {
    return list.filter(() => this.chance(probability));
  }
}
