import { Injectable } from '@nestjs/common';
import { OperationSlots } from '../../../platform/operations/operation-slots.js';

/** Far fewer than a worker takes off its queue: whatever does not stop when it is asked to, others' kills go on beside it. */
const AT_ONCE = 24;

/** A stop waits for the program's end, for as long as that has, so a worker sees to few starts and stops at a time. */
@Injectable()
export class PowerSlots extends OperationSlots {
  constructor() {
    super(AT_ONCE);
  }
}
