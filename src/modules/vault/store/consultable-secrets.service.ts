import { Injectable } from '@nestjs/common';
import { ScopeLoader, type LoadedRow, type LoadedScope } from './scope-loader.service.js';

declare const consultable: unique symbol;

/** A secret whose value may be shown. Made here and nowhere else, and never of a sealed one. */
export interface ConsultableSecret {
  readonly [consultable]: true;
  readonly key: string;
  readonly scope: LoadedScope;
  readonly row: LoadedRow & { sealed: false };
}

/** The one way from a stored value to somebody's eyes. */
@Injectable()
export class ConsultableSecrets {
  constructor(private readonly scopes: ScopeLoader) {}

  async find(scope: string, id: string): Promise<ConsultableSecret | 'sealed' | null> {
    const loaded = (await this.scopes.load([scope])).get(scope);
    if (loaded instanceof Error) throw loaded;
    const row = loaded?.rows.find((candidate) => candidate.id === id && candidate.ciphertext !== null);
    if (!loaded || !row) return null;
    return row.sealed ? 'sealed' : ({ key: row.key, scope: loaded, row } as unknown as ConsultableSecret);
  }

  async open({ scope, row }: ConsultableSecret): Promise<string> {
    const value = await this.scopes.open(scope, row);
    const text = value.toString('utf8');
    value.fill(0);
    return text;
  }
}
