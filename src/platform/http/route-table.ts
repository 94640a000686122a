import type { Request } from 'express';
import { METHODS } from 'node:http';

interface Route {
  methods: Record<string, boolean>;
}

interface Layer {
  match(path: string): boolean;
  route?: Route;
}

/**
 * Whether a route for the request's method took it. That Express names a route is not enough: it also names the gates that
 * let a request pass, and for HEAD the last route of the path, whatever method that one is for.
 */
export function tookRoute(request: Request): boolean {
  const route = request.route as Route | undefined;
  if (!route || isGate(route)) return false;
  const { methods } = route;
  const method = request.method.toLowerCase();
  return methods[method] === true || (method === 'head' && methods['get'] === true);
}

/** The methods that the path of a request has routes for, whatever the request's own method is. */
export function allowedMethods(request: Request): string[] {
  const { stack } = request.app.router as unknown as { stack: Layer[] };
  const methods = new Set<string>();
  for (const layer of stack) {
    if (!layer.route || isGate(layer.route) || !matches(layer, request.path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

/** Middleware that Nest mounts on a path for all methods is a route to Express; a resource never has them all. */
function isGate({ methods }: Route): boolean {
  return methods['_all'] === true || METHODS.every((method) => methods[method.toLowerCase()] === true);
}

function matches(layer: Layer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false; // a percent sign that encodes nothing
  }
}
