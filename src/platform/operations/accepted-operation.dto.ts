import { ApiProperty } from '../http/openapi-annotations.js';

/** The answer of what ends later. */
export class AcceptedOperation {
  @ApiProperty({ description: 'Ask `GET /operations/{id}` how it ended' })
  operationId!: string;
}
