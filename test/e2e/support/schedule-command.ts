import type { Api } from '../../support/api.js';
import { ended } from './hosting.js';

/** Has a schedule of its own say something to the program of a service. */
export class ConsoleCommandsProbe {
  constructor(
    private readonly api: Api,
    private readonly serverId: string,
  ) {}

  async run(command: string): Promise<void> {
    const schedules = `/servers/${this.serverId}/schedules`;
    const { id } = (await this.api.post(schedules, { name: 'says something', hour: '4', isActive: false })).expect(
      201,
    ).body;
    (await this.api.post(`${schedules}/${id}/tasks`, { action: 'command', payload: command })).expect(201);
    const { operationId } = (await this.api.post(`${schedules}/${id}/execute`)).expect(202).body;
    const { status } = (await ended(this.api, operationId as string)).body;
    if (status !== 'DONE') throw new Error(`the schedule ended ${status}`);
  }
}
