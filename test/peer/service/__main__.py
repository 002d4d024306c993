"""python3 -m service: runs the app and the object storage until stdin ends.

The first line on stdout is a JSON object with both addresses.
"""

import concurrent.futures
import json
import os
import socketserver
import sys
import threading
import wsgiref.simple_server

from . import settings

settings.configure()

from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

from . import seed, storage  # noqa: E402

# All of Django runs on one thread, so that the database in memory is one database and every request is whole.
worker = concurrent.futures.ThreadPoolExecutor(max_workers=1)


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    timeout = 30

    def log_message(self, *_):
        pass


def prepare():
    call_command("migrate", run_syncdb=True, verbosity=0)
    seed.fill()
    return get_wsgi_application()


def main():
    app = worker.submit(prepare).result()
    store = storage.start()
    api = Server(("127.0.0.1", 0), Quiet)
    api.set_app(lambda environ, start: worker.submit(app, environ, start).result())
    threading.Thread(target=api.serve_forever, daemon=True).start()
    print(json.dumps({"api": "http://127.0.0.1:%d" % api.server_port, "storage": store}), flush=True)
    sys.stdin.read()
    os._exit(0)


main()
