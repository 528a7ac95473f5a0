import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

import { expect } from 'chai';

import { MemoryBackend, Semaphore } from '../../src/index.js';

type Provider = (prompt: string) => Promise<object>;
type Complete = (llm: Semaphore, to: Provider, tenant: string, prompt: string) => Promise<string>;

it('the gateway of the guide keeps each tenant at its limit, settles tokens, and asks again after a 429', async () => {
  const guide = readFileSync(new URL('../../docs/guides/llm-gateway.md', import.meta.url), 'utf8');
  const [, code = ''] = /```js\n(.*?)```/s.exec(guide) ?? [];
  const complete = runInThisContext(`(() => { ${code}; return complete; })()`) as Complete;
  const llm = new Semaphore(new MemoryBackend(), 'llm', {
    limit: 6,
    rate: { permits: 600, per: 1000, burst: 100 },
    budgets: { tokens: { amount: 90_000, per: 365 * 86_400_000 } },
    groupLimit: 2,
  });
  const open: string[] = [];
  let [peak, refusals] = [0, 0];
  const provider: Provider = async (prompt) => {
    const [tenant = ''] = prompt.split(' ');
    open.push(tenant);
    peak = Math.max(peak, open.filter((each) => each === tenant).length);
    await new Promise((resolve) => setImmediate(resolve));
    open.splice(open.indexOf(tenant), 1);
    if (prompt.endsWith(' 3') && (refusals += 1) === 1) return { status: 429, retryAfter: 1 };
    return { status: 200, tokens: 1000, text: `re: ${prompt}` };
  };
  const prompts = Array.from({ length: 30 }, (_, i) => `tenant${i % 3} ${Math.floor(i / 3)}`);
  const answers = await Promise.all(
    prompts.map((prompt) => complete(llm, provider, prompt.split(' ')[0] ?? '', prompt)),
  );
  expect(answers).to.deep.equal(prompts.map((prompt) => `re: ${prompt}`));
  expect([peak, refusals], 'three requests, and the repetition of one').to.deep.equal([2, 4]);
  const { budgets, held } = await llm.inspect();
  expect(held).to.equal(0);
  expect(budgets?.['tokens']?.used, '30 answers of 1000').to.be.within(29_900, 30_000);
  await llm.close();
});
