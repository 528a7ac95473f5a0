import { printable } from './output.js';

let segmenter: Intl.Segmenter | undefined;

/** Made when it is needed, for that takes its time. */
function graphemes(): Intl.Segmenter {
  return (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' }));
}

/**
 * Emoji, and the East Asian blocks that terminals show two columns wide (Unicode's EastAsianWidth W
 * and F).
 */
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

const PLAIN = /^[ -~]*$/;

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  // Most are, and this costs a hundredth.
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes().segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The text without control characters and in at most `columns` columns. */
export function fit(text: string, columns: number): string {
  const safe = printable(text);
  if (widthOf(safe) <= columns) return safe;
  let [kept, width] = ['', 0];
  for (const { segment } of graphemes().segment(safe)) {
    width += WIDE.test(segment) ? 2 : 1;
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? '' : `${kept}…`;
}
