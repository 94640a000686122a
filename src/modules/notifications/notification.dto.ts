import { ApiProperty } from '../../platform/http/openapi-annotations.js';
import { NOTIFICATION_STATUSES, type NotificationStatus } from './notification.entity.js';

export class NotificationView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ example: 'alert.ram' })
  kind!: string;

  @ApiProperty({ description: 'What it is about' })
  resourceId!: string;

  @ApiProperty()
  text!: string;

  @ApiProperty({ enum: NOTIFICATION_STATUSES })
  status!: NotificationStatus;

  @ApiProperty({
    type: String,
    nullable: true,
    description:
      'Why it was not sent, or not yet: not_configured, no_recipient, too_many, refused, unauthorized, rate_limited, unavailable',
  })
  reason!: string | null;

  @ApiProperty({ type: 'integer' })
  attempts!: number;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ type: Date, nullable: true })
  sentAt!: Date | null;
}
