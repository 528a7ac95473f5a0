// Before packing: completes the relative links and pictures of README.md, because the package has
// no docs. They lead to the repository of package.json, as of this version. `--undo`: as before.
// Without a repository README.md stays as it is; `check-release.mjs` refuses such a release.
import { readFileSync, writeFileSync } from 'node:fs';

const { repository, version } = JSON.parse(readFileSync('package.json', 'utf8'));
const [, where] = /github\.com\/(.+)\.git$/.exec(repository?.url ?? '') ?? [];
if (where !== undefined) {
  const pages = `https://github.com/${where}/blob/v${version}/`;
  const pictures = `https://raw.githubusercontent.com/${where}/v${version}/`;
  const readme = readFileSync('README.md', 'utf8');
  const relative = readme.replaceAll(pages, '').replaceAll(pictures, '');
  const complete = relative.replaceAll(
    /(!?)(\[[^\]]*\]\()(?![a-z]+:|#)/g,
    (_, picture, text) => `${picture}${text}${picture === '' ? pages : pictures}`,
  );
  writeFileSync('README.md', process.argv[2] === '--undo' ? relative : complete);
}
