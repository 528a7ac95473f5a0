import { expect } from 'chai';

import { inDialect } from '../../../../src/backends/redis/dialect.js';
import * as scripts from '../../../../src/backends/redis/scripts.js';

describe('composed scripts', () => {
  it('have no include and no name of a number left', () => {
    for (const one of Object.values(scripts).flatMap((script) => [script, inDialect(script)])) {
      expect(one.text, one.name).to.match(/redis\.call/);
      expect(one.text, one.name).not.to.match(/-- include|_US\b|_MS\b/);
    }
    expect(scripts.releaseScript.text).to.include('math.min(life + 0, 5000000)');
  });
});
