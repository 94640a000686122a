import { OperationSlots } from './operation-slots.js';

/** Has all ask at once, and tells in which order they began. */
function order(count: number, wanted: string[]): string[] {
  const slots = new OperationSlots(count);
  const begun: string[] = [];
  for (const id of wanted) if (slots.take({ id, accountId: id[0]! }, () => begun.push(id))) begun.push(id);
  for (let ended = 0; ended < wanted.length; ended++) slots.giveBack();
  return begun;
}

test('accounts have their turns one after the other, however many each has waiting', () => {
  expect(order(1, ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'])).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  expect(order(2, ['a1', 'a2', 'a3', 'b1', 'b2'])).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('no more are under way than there are slots, and none is lost', () => {
  const slots = new OperationSlots(3);
  let [underWay, ended] = [0, 0];
  const begin = (): void => void underWay++;
  for (let id = 0; id < 100; id++) if (slots.take({ id: `${id}`, accountId: `${id % 7}` }, begin)) begin();
  while (underWay > 0) {
    expect(underWay).toBeLessThanOrEqual(3);
    underWay--;
    ended++;
    slots.giveBack();
  }
  expect(ended).toBe(100);
});
