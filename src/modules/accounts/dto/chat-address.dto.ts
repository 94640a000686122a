import { StringField } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';

const USER_ID = /^\d{17,20}$/;

export class SetChatAddressDto {
  @StringField({
    pattern: USER_ID,
    patternHint: 'must be a user id of 17 to 20 digits',
    nullable: true,
    description: 'User id on the chat platform; null to be sent nothing.',
  })
  userId!: string | null;
}

export class ChatAddressDto {
  @ApiProperty({ type: String, nullable: true })
  userId!: string | null;
}
