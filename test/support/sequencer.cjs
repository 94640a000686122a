const { default: Sequencer } = require('@jest/test-sequencer');

/** The longest first: what takes minutes must not begin when all else has ended. */
module.exports = class extends Sequencer {
  sort(tests) {
    const isLong = ({ path }) => Number(/-killed\.spec\.ts$|\/integration\/faults\//.test(path));
    return [...super.sort(tests)].sort((a, b) => isLong(b) - isLong(a));
  }
};
