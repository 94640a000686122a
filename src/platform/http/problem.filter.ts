import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppLogger } from '../observability/logger.js';
import { reportedProblem } from './problem-mapping.js';
import { sendProblem } from './problem.js';
import { allowedMethods, tookRoute } from './route-table.js';

/** The one place where an error becomes an answer. Anything nobody foresaw is a plain 500, and a line with its stack in the log. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: AppLogger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    const problem = reportedProblem(error, this.log, routeOf(request));
    if (problem.status === 404 && error instanceof HttpException && !tookRoute(request)) {
      const allowed = allowedMethods(request);
      if (allowed.length > 0) {
        sendProblem(request, response, {
          status: 405,
          code: 'method_not_allowed',
          detail: 'The resource does not know this method.',
          headers: { Allow: allowed.join(', ') },
        });
        return;
      }
    }
    sendProblem(request, response, problem);
  }
}

function routeOf(request: Request): string | undefined {
  return (request.route as { path?: string } | undefined)?.path;
}
