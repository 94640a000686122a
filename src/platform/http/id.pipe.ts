import { Injectable, Param, type PipeTransform, applyDecorators } from '@nestjs/common';
import type { ApiParamOptions } from '@nestjs/swagger';
import { badField, notFound } from '../errors/domain-error.js';
import { idPattern, type IdPrefix } from '../ids/id.js';
import { ApiParam } from './openapi-annotations.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Lets only ids of the right shape through. One of another shape belongs to nothing, so it is a 404 and no look-up. */
@Injectable()
export class ShapePipe implements PipeTransform<string, string> {
  constructor(readonly pattern: RegExp) {}

  transform(value: string): string {
    if (!this.pattern.test(value)) throw notFound();
    return value;
  }
}

/** Lets only some words through. Unlike an id, another word is a fault of the request. */
@Injectable()
class WordPipe implements PipeTransform<string, string> {
  constructor(
    private readonly name: string,
    private readonly allowed: readonly string[],
  ) {}

  transform(value: string): string {
    const { name, allowed } = this;
    if (!allowed.includes(value))
      throw badField(name, 'enum', `${name} must be one of ${allowed.join(', ')}`, { allowed });
    return value;
  }
}

/** The id in a route's path: `@IdParam('srv') id: string` for `:id`. */
export function IdParam(prefix: IdPrefix, name = 'id'): ParameterDecorator {
  return shaped(name, idPattern(prefix));
}

/** One of a few words in a route's path. */
export function WordParam(name: string, words: readonly string[]): ParameterDecorator {
  return documented(Param(name, new WordPipe(name, words)), { name, enum: [...words] });
}

/** A uuid in a route's path, lower case. */
export function UuidParam(name = 'uuid'): ParameterDecorator {
  return shaped(name, UUID);
}

function shaped(name: string, pattern: RegExp): ParameterDecorator {
  return documented(Param(name, new ShapePipe(pattern)), { name, schema: { type: 'string', pattern: pattern.source } });
}

function documented(inject: ParameterDecorator, options: ApiParamOptions): ParameterDecorator {
  return (target, method, index) => {
    inject(target, method, index);
    const descriptor = Object.getOwnPropertyDescriptor(target, method!)!;
    applyDecorators(ApiParam(options))(target, method, descriptor);
  };
}
