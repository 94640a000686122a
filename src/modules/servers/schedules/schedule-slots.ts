import { Injectable } from '@nestjs/common';
import { OperationSlots } from '../../../platform/operations/operation-slots.js';

/** Far fewer than a worker takes off its queue: at full hours the schedules of all accounts fall due together. */
const AT_ONCE = 16;

/** A run follows what its tasks have begun, so a worker sees to few runs at a time. */
@Injectable()
export class ScheduleSlots extends OperationSlots {
  constructor() {
    super(AT_ONCE);
  }
}
