/** Nothing else of this process runs for so many milliseconds: no timer, no socket. */
export function blockEventLoop(duration: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration);
}
