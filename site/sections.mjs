/**
 * The groups of the navigation, in order, by the folder a page is in; a folder not listed is a
 * group of its name.
 */
export const SECTIONS = [
  { folder: 'docs', title: 'Start' },
  { folder: 'docs/guides', title: 'Guides' },
  { folder: 'docs/operations', title: 'Operations' },
  { folder: 'docs/reference', title: 'Reference' },
  { folder: 'docs/explanation', title: 'Explanation' },
  { folder: 'docs/evidence', title: 'Evidence' },
  { folder: 'docs/proof', title: 'Evidence' },
  { folder: 'benchmarks', title: 'Evidence' },
  { folder: 'verification/formal', title: 'Evidence' },
  { folder: 'examples', title: 'Guides' },
  { folder: '.', title: 'Project' },
];

/** The group of a page, by its path from the root of the repository. */
export function sectionOf(path) {
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.';
  for (let at = folder; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const section = SECTIONS.find((one) => one.folder === at);
    if (section) return section.title;
    if (/^docs\/[^/]+$/.test(at)) return at.slice('docs/'.length);
  }
  return folder;
}
