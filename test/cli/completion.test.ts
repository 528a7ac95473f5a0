import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { findExecutable } from '../support/find-executable.js';
import { noServer, describeStarted } from '../support/require-server.js';
import { startServer } from '../support/redis-server.js';
import { shell, semaphoreOn } from './cli-fixture.js';
import { redsemHere } from './in-process.js';

/** A shell that expanded this name would make the file. */
const HOSTILE = '$(touch a-name-was-run)';
const missing = findExecutable('bash') === undefined ? 'bash' : noServer();

describeStarted('redsem completion', missing, startServer, (server) => {
  it('offers commands, options and the names of semaphores in bash, and runs no name', async () => {
    for (const name of ['deploys', 'dev tools', 'gpus', HOSTILE])
      await semaphoreOn(server(), name).acquire();
    const script = `
    source <(redsem completion bash)
    offers() { COMP_WORDS=(redsem "$@"); COMP_CWORD=$#; _redsem; printf '%s;' "\${COMPREPLY[@]}"; echo; }
    offers st; offers ''; offers watch --i; offers completion ''; offers status de; offers status '$'; offers list ''`;
    const { stdout, stderr } = await shell(script, { url: server().url }, 'bash');
    expect([...stdout.split('\n'), stderr]).to.deep.equal([
      'status;',
      'run;status;list;watch;web;limit;rate;budget;revoke;completion;',
      '--interval;',
      'bash;zsh;fish;',
      'deploys;dev\\ tools;',
      '\\$\\(touch\\ a-name-was-run\\);',
      ';',
      '',
      '',
    ]);
    expect(existsSync('a-name-was-run')).to.equal(false);
  });

  it('has a script for zsh and fish, too, and none for other shells', async () => {
    for (const name of ['zsh', 'fish']) {
      const { code, stdout } = await redsemHere(['completion', name]);
      expect(code).to.equal(0);
      for (const word of ['revoke', 'skip-if-busy', 'list 2>/dev/null'])
        expect(stdout, name).to.contain(word);
    }
    const stderr = 'redsem: expected bash, zsh or fish, got "tcsh"\n';
    expect(await redsemHere(['completion', 'tcsh'])).to.include({ code: 64, stderr });
  });
});
