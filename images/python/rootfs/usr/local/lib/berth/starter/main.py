"""A small web server to begin with: replace it by your own program."""

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Greeting(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"Hello from your Python service\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def stop(*_):
    print("Stopping")
    sys.exit(0)


signal.signal(signal.SIGTERM, stop)
port = int(os.environ.get("SERVER_PORT") or 3000)
server = ThreadingHTTPServer(("0.0.0.0", port), Greeting)
print(f"Ready on port {port}")
server.serve_forever()
