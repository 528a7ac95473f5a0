import { LiveView } from './live-view.js';
import { PlainView } from './plain-view.js';
import type { Scene, View } from './scene.js';

const ROWS_NEEDED = 16;

export function openView(scene: Scene, output: NodeJS.WriteStream): View {
  // A terminal of unknown size reports 0.
  const highEnough = !(output.rows > 0 && output.rows < ROWS_NEEDED);
  const canRedraw = output.isTTY && highEnough && process.env['TERM'] !== 'dumb';
  return canRedraw ? new LiveView(scene, output) : new PlainView(scene, output);
}
