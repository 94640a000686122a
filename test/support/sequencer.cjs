const { default: Sequencer } = require('@jest/test-sequencer');

const LONG = /killed\.spec\.ts$|\/integration\/faults\/|\/contract\/(answers|idempotency)/;

/** The longest first: what takes minutes must not begin when all else has ended. */
module.exports = class extends Sequencer {
  sort(tests) {
    const isLong = ({ path }) => Number(LONG.test(path));
    return [...super.sort(tests)].sort((a, b) => isLong(b) - isLong(a));
  }
};
