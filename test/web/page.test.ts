import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

import { pageAssets } from '../../src/web/page/assets.js';

/** HTML, style and script together: a phone loads them before it shows anything. */
const MOST_BYTES = 40 * 1024;

describe('the page of the web view', () => {
  it('is 40 kB at most, with its style, script and charts, compressed', () => {
    const sizes = Object.values(pageAssets).map((text) => gzipSync(text).length);
    expect(sizes.reduce((sum, size) => sum + size)).to.be.below(MOST_BYTES);
  });

  it('has every element that the script asks for, which makes no markup of any text', () => {
    expect(sources()).to.not.match(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser/,
    );
    const ids = new Set(
      [...pageAssets['index.html'].matchAll(/\sid="([\w-]+)"/g)].map(([, id]) => id),
    );
    const wanted = [...sources().matchAll(/\bbyId\('([\w-]+)'\)/g)].map(([, id]) => id);
    expect(wanted).to.include('semaphores');
    expect(wanted.filter((id) => !ids.has(id))).to.deep.equal([]);
  });
});

/** The script without the chart library. */
function sources(): string {
  const folder = new URL('../../src/web/page/app/', import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
  return files.map((file) => readFileSync(new URL(file, folder), 'utf8')).join('\n');
}
