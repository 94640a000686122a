import type { Response } from 'express';
import type { WholeProject } from './projects.service.js';

/** Answers with a project as JSON. Its document is kept as it stands in an answer, so it is not spelled anew for each reader. */
export function sendProject(response: Response, { project, literal }: WholeProject): void {
  const fields = Buffer.from(`${JSON.stringify(project).slice(0, -1)},"data":`);
  const length = fields.length + literal.length + 1;
  response.status(200).set({ 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(length) });
  // In one call of the system.
  response.cork();
  response.write(fields);
  response.write(literal);
  response.end('}');
}
