import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runsOnFakeClock } from '../../test/support/faketime.js';
import { noFakeTime } from '../../test/support/require-server.js';
import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';

describe('whether a server runs on a false clock', () => {
  let folder: string;

  before(function () {
    if (noFakeTime() !== undefined) this.skip();
    folder = makeTemporaryFolder();
  });

  after(() => (folder === undefined ? undefined : removeTemporaryFolder(folder)));

  function server(name: string, script: string): string {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  }

  it('shows when it starts: some print their version, but crash as soon as they start', () => {
    const crashing = '[ "$1" = --version ] && exit 0\nkill -SEGV $$';
    expect(runsOnFakeClock(server('crashing', crashing))).to.equal(false);
    const well = '[ "$1" = --version ] && exit 0\nexit 1';
    expect(runsOnFakeClock(server('well', well))).to.equal(true);
  });

  it('does not when it is not even loaded, which ends with the status of a refused start', () => {
    expect(runsOnFakeClock(server('not-loaded', 'exit 1'))).to.equal(false);
  });
});
