import { ApiProperty } from '../../../platform/http/openapi-annotations.js';

export class AccountProfileDto {
  @ApiProperty({ example: 'usr_01j9z6m3k4v5w6x7y8z9a0b1c2' })
  id!: string;

  @ApiProperty()
  username!: string;

  @ApiProperty()
  email!: string;
}
