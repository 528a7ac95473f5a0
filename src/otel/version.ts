/** As in package.json: `npm run release:check` holds the two together. */
export const VERSION = '0.1.0';
