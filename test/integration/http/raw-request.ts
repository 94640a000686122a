import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

/** Sends exactly these bytes and reads one answer with a Content-Length; what HTTP clients would tidy or refuse to send. */
export function sendRaw(url: string, text: string): Promise<RawAnswer & { interim: string[] }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let received = '';
    const interim: string[] = [];
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      received += chunk;
      for (let head = received.indexOf('\r\n\r\n'); head !== -1; head = received.indexOf('\r\n\r\n')) {
        const [statusLine, ...lines] = received.slice(0, head).split('\r\n');
        const status = Number(statusLine!.split(' ')[1]);
        if (status < 200) {
          interim.push(statusLine!);
          received = received.slice(head + 4);
          continue;
        }
        const headers = new Map(
          lines.map((line) => [
            line.slice(0, line.indexOf(':')).toLowerCase(),
            line.slice(line.indexOf(':') + 1).trim(),
          ]),
        );
        const body = received.slice(head + 4);
        if (Buffer.byteLength(body) < Number(headers.get('content-length') ?? 0)) return;
        socket.destroy();
        resolve({ status, headers, body, interim });
        return;
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`The connection was closed after: ${received}`)));
  });
}
