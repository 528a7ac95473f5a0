import { expect } from 'chai';

import { readCommandLine } from '../command-line.js';

describe('command line of npm run chaos', () => {
  it('takes seed, minutes and topology', () => {
    const args = readCommandLine(['--seed', '42', '--minutes', '0.5', '--topology', 'cluster']);
    expect(args).to.include({ seed: 42, minutes: 0.5, topology: 'cluster', planOnly: false });
  });

  it('runs one minute against one server by default', () => {
    expect(readCommandLine([])).to.include({ seed: 1, minutes: 1, ttl: 1000, topology: 'single' });
  });

  const refused: Record<string, readonly string[]> = {
    '--seed must be an integer: x': ['--seed', 'x'],
    '--minutes must be a positive number: 0': ['--minutes', '0'],
    '--minutes must be a positive number: long': ['--minutes', 'long'],
    '--ttl must be an integer of at least 100: 50': ['--ttl', '50'],
    '--topology must be one of single, sentinel, cluster, quorum: ring': ['--topology', 'ring'],
    "Unknown option '--sed'": ['--sed', '1'],
  };
  for (const [message, args] of Object.entries(refused)) {
    it(`refuses ${args.join(' ')}`, () => {
      expect(() => readCommandLine(args)).to.throw(message);
    });
  }
});
