import { expect } from 'chai';

import { progressText } from '../../src/cli/commands/waiting-note.js';

describe('what run says of a wait', () => {
  it('is the place, how many wait, and about how long it takes', () => {
    const texts = [
      { position: 0, waiting: 1 },
      { position: 1, waiting: 2, estimate: 400 },
      { position: 2, waiting: 17, estimate: 40_400 },
      { position: 10, waiting: 111, estimate: 600_000 },
      { position: 21, waiting: 22, estimate: undefined },
    ].map(progressText);
    expect(texts).to.deep.equal([
      '1st of 1',
      '2nd of 2, about 1 s',
      '3rd of 17, about 40 s',
      '11th of 111, about 10 min',
      '22nd of 22',
    ]);
  });
});
