import { init } from 'echarts';

import type { Spread } from './results.js';
import { spreadText } from './table.js';

/** Horizontal bars, in an SVG file of that name. */
export interface Chart {
  readonly file: string;
  readonly title: string;
  readonly subtitle: string;
  /** Each has a separate scale that begins at 0. */
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly title: string;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly label: string;
  /** A bar that was not measured is left out. */
  readonly spread: Spread | undefined;
  /** Whether it is of redsem. */
  readonly isOwn: boolean;
}

/** Narrow enough that a phone, which shrinks it to its own width, leaves the text readable. */
const WIDTH = 520;
const [HEAD, PANEL_HEAD, STEP] = [64, 34, 26];
const [ink, faint] = ['#1f2937', '#6b7280'];

export function svgOf({ title: text, subtitle: subtext, panels }: Chart): string {
  const parts = panels.map(({ title, bars }) => ({
    title,
    bars: bars.flatMap(({ spread, ...bar }) => (spread === undefined ? [] : [{ ...bar, spread }])),
  }));
  let bottom = HEAD;
  const grid = parts.map(({ bars }) => {
    const [top, height] = [bottom + PANEL_HEAD, bars.length * STEP];
    bottom = top + height;
    return { left: 150, right: 150, top, height };
  });
  const panelTitles = parts.map(({ title }, i) => {
    return { text: title, left: 16, top: (grid[i]?.top ?? 0) - 27, textStyle: font(ink, 13) };
  });
  const subtextStyle = font(faint, 12);
  const option = {
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'Helvetica, Arial, sans-serif' },
    title: [
      { text, subtext, left: 16, top: 12, textStyle: font(ink, 16), subtextStyle },
      ...panelTitles,
    ],
    grid,
    xAxis: parts.map((_, gridIndex) => ({ type: 'value', min: 0, show: false, gridIndex })),
    yAxis: parts.map(({ bars }, gridIndex) => ({
      type: 'category',
      gridIndex,
      inverse: true,
      data: bars.map(({ label }) => label),
      axisTick: { show: false },
      axisLabel: font(ink, 13),
    })),
    series: parts.map(({ bars }, i) => ({
      type: 'bar',
      xAxisIndex: i,
      yAxisIndex: i,
      data: bars.map(({ spread, isOwn }) => ({
        value: spread[0],
        itemStyle: { color: isOwn ? '#0f766e' : '#94a3b8' },
        label: { show: true, position: 'right', formatter: spreadText(spread), ...font(ink, 13) },
      })),
    })),
  };
  const size = { width: WIDTH, height: bottom + 16 };
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg.trim()}\n`;
}

function font(color: string, fontSize: number): object {
  return { color, fontSize };
}
