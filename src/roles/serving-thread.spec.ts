import { ServingThread } from './serving-thread.js';

const SCRIPT = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (question) => {
    if (question === 'exit') process.exit(3);
    if (question === 'throw') throw new Error('too hard a question');
    parentPort.postMessage(question + 1);
  });`;

const started: ServingThread<unknown, number>[] = [];
afterAll(() => Promise.all(started.map((thread) => thread.end())));

function thread(): ServingThread<unknown, number> {
  const one = new ServingThread<unknown, number>(new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`), 'sums');
  started.push(one);
  return one;
}

test('answers one question after another', async () => {
  const asked = thread();
  for (const number of [1, 2, 3]) await expect(asked.ask(number)).resolves.toBe(number + 1);
});

test.each([
  ['throw', 'too hard a question'],
  ['exit', 'the thread of sums ended'],
])('a thread that fails by %s fails what it was asked', async (question, message) => {
  await expect(thread().ask(question)).rejects.toThrow(message);
});

test('a thread that is ended meanwhile fails what it was asked', async () => {
  const asked = thread();
  const answer = asked.ask('1');
  await Promise.all([expect(answer).rejects.toThrow('the thread of sums ended'), asked.end()]);
});
