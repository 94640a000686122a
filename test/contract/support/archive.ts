/** A ZIP archive with a page in it. */
const ARCHIVE = Buffer.from(
  'UEsDBBQAAAgAAAAAIViDFtyMAQAAAAEAAAAKAAAAaW5kZXguaHRtbHhQSwECPwMUAAAIAAAAACFYgxbcjAEAAAABAAAACgAAAAAAAAAAAAAAtIEAAAAAaW5kZXguaHRtbFBLBQYAAAAAAQABADgAAAApAAAAAAA=',
  'base64',
);
const BOUNDARY = 'contract-boundary';

/** The archive as browsers send it. */
export function archiveForm(): { raw: Buffer; headers: Record<string, string> } {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="site.zip"\r\n\r\n`;
  const raw = Buffer.concat([Buffer.from(head), ARCHIVE, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
  return { raw, headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } };
}
