import { Injectable } from '@nestjs/common';
import { OperationSlots } from '../../../platform/operations/operation-slots.js';

/** Far fewer than a worker takes off its queue: an installation may take long, and many an account makes at once. */
const AT_ONCE = 24;

/** What is made and installed keeps the engine busy and is waited for, so a worker makes little of it at a time. */
@Injectable()
export class CreationSlots extends OperationSlots {
  constructor() {
    super(AT_ONCE);
  }
}
