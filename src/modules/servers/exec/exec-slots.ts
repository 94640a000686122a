import { Injectable } from '@nestjs/common';
import { OperationSlots } from '../../../platform/operations/operation-slots.js';

/** Far fewer than a worker takes off its queue: whoever runs commands, others' services are started and killed beside them. */
const AT_ONCE = 24;

/** A command is waited for to its end, for up to a minute, so a worker runs few of them at a time. */
@Injectable()
export class ExecSlots extends OperationSlots {
  constructor() {
    super(AT_ONCE);
  }
}
