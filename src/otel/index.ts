export type { InstrumentOptions } from './instrument.js';
export { instrument } from './instrument.js';
