import { ApiProperty } from '../../../../platform/http/openapi-annotations.js';

export class ConsoleAccess {
  @ApiProperty({ description: 'For the first frame: `{"event":"auth","args":["<token>"]}`' })
  token!: string;

  @ApiProperty({ format: 'uri', description: 'WebSocket that speaks the Wings protocol' })
  socket!: string;

  @ApiProperty({
    format: 'date-time',
    description: 'End of the token; another one sent over the open socket takes its place',
  })
  expiresAt!: Date;
}
