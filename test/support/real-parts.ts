// Tests on real daemons run on shared, noisy machines: what fails once is tried once more, and the first failure is shown.
jest.retryTimes(1, { logErrorsBeforeRetry: true });
// What takes seconds on an idle machine may take a minute on a busy one.
jest.setTimeout(180_000);
