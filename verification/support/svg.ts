/** The colours of all pictures that programs of this repository draw. */
export const INK = '#1f2937';
export const FAINT = '#6b7280';

export interface TextStyle {
  readonly x: number;
  readonly y: number;
  readonly fill?: string;
  readonly size?: number;
  readonly anchor?: 'middle' | 'end';
  /** Degrees, clockwise. */
  readonly turn?: number;
}

/** A picture on white, with its title. */
export function svg(
  width: number,
  height: number,
  title: string,
  parts: readonly string[],
): string {
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const font = 'font-family="Helvetica, Arial, sans-serif"';
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}>`;
  const paper = '<rect width="100%" height="100%" fill="#ffffff"/>';
  return [head, paper, text(title, { x: 16, y: 28, size: 16 }), ...parts, '</svg>\n'].join('\n');
}

export function text(words: string, style: TextStyle): string {
  const { fill = INK, size = 12, anchor, turn } = style;
  const [x, y] = [style.x, style.y].map(round);
  const anchored = anchor === undefined ? '' : ` text-anchor="${anchor}"`;
  const turned = turn === undefined ? '' : ` transform="rotate(${turn} ${x} ${y})"`;
  return `<text x="${x}" y="${y}" fill="${fill}" font-size="${size}"${anchored}${turned}>${words}</text>`;
}

export interface Box {
  readonly from: number;
  readonly to: number;
  readonly y: number;
  readonly height: number;
}

/** Rectangles: one path for many takes a fraction of the space. */
export function boxes(drawn: readonly Box[], fill: string, opacity = 1): string {
  const parts = drawn.map(({ from, to, y, height }) => {
    const width = round(Math.max(to - from, 0.5));
    return `M${round(from)} ${round(y)}h${width}v${round(height)}h${-width}z`;
  });
  return `<path d="${parts.join('')}" fill="${fill}" opacity="${opacity}"/>`;
}

export function line(path: string, stroke: string, more = ''): string {
  return `<path d="${path}" fill="none" stroke="${stroke}" ${more}/>`;
}

/** To a tenth of a pixel. */
export function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
