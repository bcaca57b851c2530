#!/usr/bin/python3
"""A Kubernetes API server for tests. It has no controllers: objects are as clients
and tests write them.

In a test: `with fake_api.Server(directory) as server:`. Alone:
    tests/kubernetes/fake_api.py DIRECTORY [--http] [--listen ADDRESS:PORT]
It prints its address, and writes `account/` (token, ca.crt, namespace, as they are
mounted into pods) and `kubeconfig` into DIRECTORY. It ends with standard input.

POST /fake/NAME?KEY=VALUE calls a fault: drop-watches, expire-history, rotate-token,
throttle (requests, retry_after), refuse (seconds), break-answers (requests).
GET /fake/requests returns how often each request was made.
"""
import argparse
import collections
import contextlib
import http.server
import json
import os
import secrets
import socket
import ssl
import sys
import threading

import api_requests
import authority
from faults import Faults
from selection import RESOURCES
from store import Store

CONFIG = """apiVersion: v1
kind: Config
current-context: fake
contexts: [{{name: fake, context: {{cluster: fake, user: fake}}}}]
clusters: [{{name: fake, cluster: {{server: "{url}"{ca}}}}}]
users: [{{name: fake, user: {{token: "{token}"}}}}]
"""


class Listener(http.server.ThreadingHTTPServer):
    """One period in which connections are accepted."""
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, server, address):
        self.owner = server
        self.connections = set()
        super().__init__(address, api_requests.Handler)

    def finish_request(self, request, client_address):
        """Runs in a thread of its own."""
        self.connections.add(request)
        try:
            if self.owner.tls:
                request.settimeout(10)
                request = self.owner.tls.wrap_socket(request, server_side=True)
                request.settimeout(None)
            super().finish_request(request, client_address)
        except OSError:
            pass  # the client, or a fault, has ended the connection
        finally:
            self.connections.discard(request)
            with contextlib.suppress(OSError):
                request.close()

    def cut(self):
        for one in list(self.connections):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Server:
    """The server. Methods may be called by any thread."""

    def __init__(self, directory, address="127.0.0.1", port=0, tls=True,
                 namespace="canopy-system",
                 resources=RESOURCES, bookmark_seconds=1.0):
        self.directory, self.resources = directory, resources
        self.account = os.path.join(directory, "account")
        self.kubeconfig = os.path.join(directory, "kubeconfig")
        self.namespace, self.bookmark_seconds = namespace, bookmark_seconds
        self.store, self.faults = Store(), Faults()
        self.token = ""
        self.logs = None  # called with namespace and name of a pod
        self.counts = collections.Counter()
        self.bad_tokens = 0
        self.address = (address, port)
        self.tls = None
        self.closed = threading.Event()
        os.makedirs(self.account, exist_ok=True)
        if tls:
            authority.make(directory, {"127.0.0.1", address})
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(os.path.join(directory, "tls.crt"),
                                     os.path.join(directory, "tls.key"))
        self._listen()
        self.rotate_token()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def port(self):
        return self.address[1]

    @property
    def url(self):
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.address[0]}:{self.port}"

    def environment(self):
        """Returns the variables of a program that talks to this server."""
        return {"KUBERNETES_SERVICE_HOST": self.address[0],
                "KUBERNETES_SERVICE_PORT": str(self.port),
                "CANOPY_SERVICE_ACCOUNT": self.account}

    def resource(self, plural):
        return next(one for one in self.resources if one.plural == plural)

    # Life.

    def _listen(self):
        self.listener = Listener(self, self.address)
        self.address = self.listener.server_address
        self.thread = threading.Thread(target=self.listener.serve_forever,
                                       args=(0.02,), daemon=True)
        self.thread.start()

    def _unlisten(self):
        self.listener.shutdown()
        self.thread.join()
        self.listener.server_close()
        self.listener.cut()

    def close(self):
        self.closed.set()
        self.faults.drop_watches()
        self._unlisten()

    # Faults.

    def drop_watches(self):
        """Ends the connection of each watch."""
        self.faults.drop_watches()

    def expire_history(self):
        """Ends all watches; one that continues from its last version gets 410."""
        self.faults.drop_watches()
        self.store.expire()

    def refuse(self, seconds):
        """Ends all connections and refuses new ones for SECONDS. Returns at once.
        """
        self._unlisten()
        self.faults.drop_watches()
        threading.Thread(target=self._reopen, args=(seconds,), daemon=True).start()

    def _reopen(self, seconds):
        if not self.closed.wait(seconds):
            self._listen()

    def rotate_token(self):
        """Makes a new token and writes it into the account; the old one is invalid.
        """
        self.token = secrets.token_urlsafe(32)
        self._write("token", self.token)
        self._write("namespace", self.namespace)
        ca = ""
        if self.tls:
            path = os.path.join(self.directory, "ca.crt")
            with open(path, encoding="utf-8") as file:
                self._write("ca.crt", file.read())
            ca = f', certificate-authority: "{path}"'
        with open(self.kubeconfig, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(url=self.url, ca=ca, token=self.token))

    def _write(self, name, text):
        """Replaces a file of the account, as the kubelet does."""
        path = os.path.join(self.account, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)

    # What tests write and read.

    def create(self, plural, namespace, obj):
        return self.store.create(self.resource(plural), namespace, obj)

    def get(self, plural, namespace, name):
        return self.store.get(self.resource(plural), namespace, name)

    def patch(self, plural, namespace, name, patch, status=False):
        return self.store.patch(self.resource(plural), namespace, name, patch,
                                status)

    def delete(self, plural, namespace, name, grace=None):
        return self.store.delete(self.resource(plural), namespace, name, grace)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--listen", default="127.0.0.1:0")
    given = parser.parse_args()
    host, port = given.listen.rsplit(":", 1)
    os.makedirs(given.directory, exist_ok=True)
    with Server(os.path.abspath(given.directory), host, int(port),
                tls=not given.http) as server:
        print(server.url, flush=True)
        print(json.dumps(server.environment()), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
