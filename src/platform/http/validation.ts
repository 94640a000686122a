import { type ArgumentMetadata, Injectable, type PipeTransform, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { DomainError, type FieldError } from '../errors/domain-error.js';
import { queryKindsOf, type Fault } from './fields.js';

type Class = new () => object;

const MAX_ERRORS = 100;

const COMMON = {
  transform: true,
  whitelist: true,
  stopAtFirstError: true,
  forbidUnknownValues: false,
  validationError: { target: false },
  exceptionFactory: (errors: ValidationError[]) => validationFailed(fieldErrors(errors)),
};

/**
 * The global pipe. Bodies may hold the declared fields only; of a query string the declared parameters are taken and the
 * rest is left alone. Nothing is converted, but for numbers and booleans in query strings, which are text there.
 */
@Injectable()
export class RequestPipe implements PipeTransform {
  private readonly bodies = new ValidationPipe({ ...COMMON, forbidNonWhitelisted: true });
  private readonly queries = new ValidationPipe(COMMON);
  private readonly kinds = new WeakMap<Class, ReturnType<typeof queryKindsOf>>();

  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    const { metatype, type } = metadata;
    if (type === 'body') {
      refuseInheritedNames(value);
      return this.bodies.transform(value, metadata);
    }
    if (type !== 'query' || !metatype || metadata.data !== undefined) return value;
    return this.queries.transform(this.readQuery(value as Record<string, unknown>, metatype as Class), metadata);
  }

  private readQuery(query: Record<string, unknown>, type: Class): Record<string, unknown> {
    let kinds = this.kinds.get(type);
    if (!kinds) this.kinds.set(type, (kinds = queryKindsOf(type)));
    const read: Record<string, unknown> = { ...query };
    for (const [name, kind] of kinds) {
      const text = read[name];
      if (typeof text !== 'string') continue;
      if (kind === 'boolean') read[name] = text === 'true' ? true : text === 'false' ? false : text;
      else if (kind === 'integer' ? /^-?\d{1,15}$/.test(text) : /^-?\d{1,15}(\.\d{1,15})?$/.test(text))
        read[name] = Number(text);
    }
    return read;
  }
}

export function validationFailed(errors: FieldError[]): DomainError {
  const detail = errors[0]?.detail ?? 'The request does not fit its schema.';
  return new DomainError('bad_request', 'validation_failed', detail, { errors: errors.slice(0, MAX_ERRORS) });
}

/**
 * class-validator knows the declared fields as keys of an object, so names that every object inherits (`toString`,
 * `constructor`) look declared to it. Nest takes `prototype` out without a word. No field of ours has such a name.
 */
function refuseInheritedNames(value: unknown): void {
  const errors: FieldError[] = [];
  const visit = (at: unknown, path: string[]): void => {
    if (typeof at !== 'object' || at === null) return;
    for (const [name, inner] of Object.entries(at)) {
      if (name in Object.prototype || name === 'prototype') errors.push(unknownField([...path, name]));
      else visit(inner, [...path, name]);
    }
  };
  visit(value, []);
  if (errors.length > 0) throw validationFailed(errors);
}

function fieldErrors(errors: ValidationError[], path: string[] = []): FieldError[] {
  return errors.flatMap((error) => {
    const here = [...path, error.property];
    const own = Object.entries(error.constraints ?? {}).map(([rule, message]) => toFieldError(here, rule, message));
    return [...own, ...fieldErrors(error.children ?? [], here)];
  });
}

function toFieldError(path: string[], rule: string, message: string): FieldError {
  if (rule === 'whitelistValidation') return unknownField(path);
  const { field, pointer } = place(path);
  if (rule === 'nestedValidation' && !message.startsWith('{')) {
    return { field, pointer, code: 'type', detail: `${field} must be an object`, meta: { expected: 'object' } };
  }
  const fault = unpack(message);
  if (!fault) return { field, pointer, code: snake(rule), detail: message };
  return {
    field,
    pointer,
    code: fault.code,
    detail: `${field} ${fault.detail}`,
    ...(fault.meta ? { meta: fault.meta } : {}),
  };
}

function place(path: string[]): { field: string; pointer: string } {
  return {
    field: path.join('.'),
    pointer: path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  };
}

/** The fault of a field that a request does not have. */
export function unknownField(path: string[]): FieldError {
  const { field, pointer } = place(path);
  return { field, pointer, code: 'unknown_field', detail: `${field} is not a field of this request` };
}

/** Our own fields send their fault as JSON (fields.ts); other validators send a sentence. */
function unpack(message: string): Fault | undefined {
  if (!message.startsWith('{')) return undefined;
  return JSON.parse(message) as Fault;
}

function snake(rule: string): string {
  return rule.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
