/** How many are inside, and every number of them that was ever seen. */
export class Gauge {
  readonly levels = new Set<number>();
  level = 0;
  peak = 0;
  entries = 0;

  enter(): void {
    this.level += 1;
    this.entries += 1;
    this.peak = Math.max(this.peak, this.level);
    this.levels.add(this.level);
  }

  leave(): void {
    this.level -= 1;
  }
}
