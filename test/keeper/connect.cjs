// The same as a compiler leaves it that makes CommonJS of an ES module.
const { Redis } = require('ioredis');

Object.defineProperty(exports, '__esModule', { value: true });
exports.default = () => new Redis({ port: Number(process.env.REDSEM_KEEPER_PORT) });
