import { once } from 'node:events';
import { connect } from 'node:tls';

const END = Buffer.from('\r\n\r\n');

/** Requests per second for one path over one TLS connection, one after another. */
export async function tlsRate({ port, domain, path, seconds }) {
  const socket = connect({ host: '127.0.0.1', port, servername: domain, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  try {
    const request = `GET ${path} HTTP/1.1\r\nHost: ${domain}\r\n\r\n`;
    const began = performance.now();
    let requests = 0;
    for (; performance.now() - began < seconds * 1000; requests++) {
      socket.write(request);
      await answer(socket);
    }
    return requests / ((performance.now() - began) / 1000);
  } finally {
    socket.destroy();
  }
}

/** Takes in one whole answer. */
function answer(socket) {
  return new Promise((resolve, reject) => {
    let [head, missing] = [Buffer.alloc(0), Infinity];
    const settle = (how, value) => {
      socket.off('data', take).off('close', closed);
      how(value);
    };
    const closed = () => settle(reject, new Error('the connection was closed'));
    const take = (chunk) => {
      if (missing < Infinity) missing -= chunk.length;
      else {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf(END);
        if (end === -1) return;
        const text = head.subarray(0, end).toString('latin1');
        const [, length] = /^content-length: (\d+)/im.exec(text) ?? [];
        if (!text.startsWith('HTTP/1.1 200') || !length) return settle(reject, new Error(`it answered ${text}`));
        missing = Number(length) - (head.length - end - END.length);
      }
      if (missing <= 0) settle(resolve);
    };
    socket.on('data', take).on('close', closed);
  });
}
