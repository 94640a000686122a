const { default: Sequencer } = require('@jest/test-sequencer');

/** Jest goes by the size of a file when it has not run it before, and these are longer than they look. */
const LONG =
  /killed\.spec\.ts$|\/integration\/faults\/|\/storage\/large\.|\/contract\/(answers|idempotency)\.|\/engine\/lxd(-programs)?\.spec/;

/** The longest first: what takes minutes must not begin when all else has ended. */
module.exports = class extends Sequencer {
  sort(tests) {
    const isLong = ({ path }) => Number(LONG.test(path));
    return [...super.sort(tests)].sort((a, b) => isLong(b) - isLong(a));
  }
};
