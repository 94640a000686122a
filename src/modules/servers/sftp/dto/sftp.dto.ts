import { StringField } from '../../../../platform/http/fields.js';
import { ApiProperty } from '../../../../platform/http/openapi-annotations.js';

export class SftpLoginDto {
  @StringField({ max: 256 })
  username!: string;

  @StringField({ max: 1024 })
  password!: string;

  @StringField({ max: 45 })
  address!: string;
}

export class SftpPasswordView {
  @ApiProperty()
  username!: string;

  @ApiProperty({ description: 'The new password; the settings of the service show it too' })
  password!: string;
}
