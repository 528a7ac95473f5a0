// Puts the built page of the web view into the package as text, in place of the module that builds
// it: a server that is itself bundled, or has no file system, can then serve it.
import { writeFileSync } from 'node:fs';

import { chartLicense, pageAssets } from '../src/web/page/assets.ts';

const entries = Object.entries(pageAssets).map(
  ([name, text]) => `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`,
);
const folder = new URL('../dist/web/page/', import.meta.url);
// One copy, which import and require() can load.
writeFileSync(
  new URL('assets.cjs', folder),
  `module.exports.pageAssets = {\n${entries.join('')}};\n`,
);
writeFileSync(
  new URL('assets.js', folder),
  "import assets from './assets.cjs';\nexport const { pageAssets } = assets;\n",
);
writeFileSync(new URL('uplot-license.txt', folder), chartLicense());
