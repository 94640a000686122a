import { newId } from '../../../platform/ids/id.js';
import { RequestPipe } from '../../../platform/http/validation.js';
import { NodeReadsDto } from './node-reads.dto.js';

const take = (at: string) =>
  new RequestPipe().transform(
    {
      reads: [
        {
          id: '0b2b1d6c-9d0e-4a39-8d3f-2f3f1f0c5a11',
          serverId: newId('srv'),
          address: '10.158.0.5',
          at,
          refused: null,
        },
      ],
      holds: {},
    },
    { type: 'body', metatype: NodeReadsDto },
  );

test('a read is of a moment that there was', async () => {
  await expect(take('2026-02-28T01:02:03.456789Z')).resolves.toBeInstanceOf(NodeReadsDto);
  for (const at of ['2026-02-31T01:02:03Z', '2026-02-28T25:02:03Z', '2026-02-28']) {
    await expect(take(at)).rejects.toMatchObject({ code: 'validation_failed' });
  }
});
