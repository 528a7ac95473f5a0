/** The version in package.json: `npm run release:check` compares the two. */
export const VERSION = '0.1.0';
