/**
 * How many items are ended in one turn of the event loop: some milliseconds' worth, because each
 * makes an error.
 */
export const SLICE = 250;

/**
 * Does `work` for each item, the first of them at once. Other work of the process gets its turn in
 * between, so by the time an item comes to its turn it may have changed.
 */
export async function inSlices<Item>(
  items: readonly Item[],
  work: (item: Item) => void,
): Promise<void> {
  for (const [i, item] of items.entries()) {
    if (i > 0 && i % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
    work(item);
  }
}
