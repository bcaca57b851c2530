"""The requests of the fake API server: paths, answers and watches."""
import hmac
import http.server
import json
import re
import select
import time
import urllib.parse

from selection import Refusal, Selection
from store import number, versioned

PATH = re.compile(r"/(?:api/v1|apis/([^/]+)/([^/]+))(?:/namespaces/([^/]+))?"
                  r"/([^/]+)(?:/([^/]+))?(?:/(status|log))?$")
OPEN = ("/version", "/readyz", "/livez", "/healthz")  # need no token
PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json")
BIGGEST = 1 << 20
METADATA = "as=PartialObjectMetadata"
# Calls of POST /fake/NAME, with the types of their parameters.
CONTROLS = {
    "drop-watches": lambda server: server.drop_watches(),
    "expire-history": lambda server: server.expire_history(),
    "rotate-token": lambda server: server.rotate_token(),
    "throttle": lambda server, requests, retry_after="1":
        server.faults.throttle(int(requests), int(retry_after)),
    "break-answers": lambda server, requests:
        server.faults.break_answers(int(requests)),
    "refuse": lambda server, seconds: server.refuse(float(seconds)),
}


def not_found():
    return Refusal(404, "NotFound", "the server could not find the requested "
                   "resource")


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection. Each request is answered by one of the methods _VERB."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    @property
    def api(self):
        return self.server.owner

    def _serve(self):
        parts = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        path = parts.path.rstrip("/") or "/"
        try:
            body = self._body()
            if path.startswith("/fake/"):
                self._control(path.removeprefix("/fake/"))
                return
            self.api.counts[f"{self.command} {path}"] += 1
            self._check_token(path)
            self._answer(path, body)
        except Refusal as refusal:
            headers = {} if refusal.retry_after is None else \
                {"Retry-After": str(refusal.retry_after)}
            self._send(refusal.code, refusal.status(), headers)

    def _body(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > BIGGEST:
            self.close_connection = True
            raise Refusal(413, "RequestEntityTooLarge", "the body is too large")
        text = self.rfile.read(length)
        try:
            return json.loads(text) if text else {}
        except ValueError:
            raise Refusal(400, "BadRequest", "the body is not JSON") from None

    def _check_token(self, path):
        if path in OPEN:
            return
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(),
                                   f"Bearer {self.api.token}".encode()):
            self.api.bad_tokens += 1
            raise Refusal(401, "Unauthorized", "Unauthorized")

    def _answer(self, path, body):
        found = PATH.match(path)
        if not found:
            self._send(200, self._discovery(path))
            return
        group, version, namespace, plural, name, part = found.groups()
        resource = next((one for one in self.api.resources if (
            one.group, one.version, one.plural) == (
                group or "", version or "v1", plural)), None)
        if resource is None or part == "status" and not resource.status:
            raise not_found()
        verb = self._verb(name)
        self.api.counts[f"{verb} {plural}"] += 1
        self.api.faults.before(verb, plural)
        if part == "log":
            self._log(plural, namespace, name)
        else:
            getattr(self, "_" + verb)(resource, namespace, name, body,
                                      part == "status")

    def _verb(self, name):
        """Returns the request's verb of Kubernetes."""
        if self.command == "GET":
            watches = self.query.get("watch", "") in ("1", "true")
            return "watch" if watches and not name else "get" if name else "list"
        verbs = {("POST", False): "create", ("PUT", True): "update",
                 ("PATCH", True): "patch", ("DELETE", True): "delete"}
        verb = verbs.get((self.command, name is not None))
        if not verb:
            raise Refusal(405, "MethodNotAllowed", "the server does not allow this "
                          "method on the requested resource")
        return verb

    # Sending.

    def _send(self, code, obj, headers=()):
        data = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
        self.send_response(code)
        kind = "text/plain" if isinstance(obj, bytes) else "application/json"
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)),
                            **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        if code == 200 and self.command == "GET" and self.api.faults.breaks():
            data, self.close_connection = data[:len(data) // 2], True
        self.wfile.write(data)

    def _shown(self, obj):
        """Returns an object in the form that the client accepts."""
        if METADATA not in self.headers.get("Accept", ""):
            return obj
        return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"]}

    # Discovery and controls.

    def _discovery(self, path):
        groups = {}
        for one in self.api.resources:
            groups.setdefault(one.group, one.version)
        if path in ("/readyz", "/livez", "/healthz"):
            return b"ok"
        if path == "/version":
            return {"major": "1", "minor": "32", "gitVersion": "v1.32.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
                group_entry(*one) for one in groups.items() if one[0]]}
        for group, version in groups.items():
            if group and path == f"/apis/{group}":
                return {"kind": "APIGroup", "apiVersion": "v1",
                        **group_entry(group, version)}
        found = [one for one in self.api.resources if one.path == path]
        if not found:
            raise not_found()
        return {"kind": "APIResourceList", "apiVersion": "v1",
                "groupVersion": found[0].api_version,
                "resources": [entry for one in found for entry in one.described()]}

    def _control(self, name):
        if name == "requests" and self.command == "GET":
            self._send(200, dict(self.api.counts))
            return
        if name not in CONTROLS or self.command != "POST":
            raise not_found()
        try:
            CONTROLS[name](self.api, **self.query)
        except (TypeError, ValueError) as error:
            raise Refusal(400, "BadRequest", str(error)) from None
        self._send(200, {})

    # The verbs.

    def _get(self, resource, namespace, name, _body, _status):
        self._send(200, self._shown(self.api.store.get(resource, namespace, name)))

    def _log(self, plural, namespace, name):
        if plural != "pods" or not self.api.logs:
            raise not_found()
        self._send(200, self.api.logs(namespace, name))

    def _create(self, resource, namespace, _name, body, _status):
        if resource.namespaced and not namespace:
            raise Refusal(405, "MethodNotAllowed", "a namespace is required")
        self._send(201, self.api.store.create(resource, namespace, body))

    def _update(self, resource, namespace, name, body, status):
        self._send(200, self.api.store.update(resource, namespace, name, body,
                                              status))

    def _patch(self, resource, namespace, name, body, status):
        kind = self.headers.get("Content-Type", "").split(";")[0]
        if kind not in PATCHES:
            raise Refusal(415, "UnsupportedMediaType", f"the body of the request was "
                          f"in an unknown format: {kind}")
        self._send(200, self.api.store.patch(resource, namespace, name, body,
                                             status))

    def _delete(self, resource, namespace, name, body, _status):
        grace = self.query.get("gracePeriodSeconds",
                               body.get("gracePeriodSeconds"))
        self._send(200, self.api.store.delete(
            resource, namespace, name, None if grace is None else int(grace)))

    def _selection(self, resource, namespace):
        return Selection(resource, namespace, self.query.get("labelSelector", ""),
                         self.query.get("fieldSelector", ""))

    def _list(self, resource, namespace, _name, _body, _status):
        limit, version = self._wanted_list()
        version, found, more, rest = self.api.store.list(
            self._selection(resource, namespace), limit,
            self.query.get("continue", ""), version)
        meta = {"resourceVersion": str(version)}
        if more:
            meta.update({"continue": more, "remainingItemCount": rest})
        partial = METADATA in self.headers.get("Accept", "")
        self._send(200, {
            "kind": "PartialObjectMetadataList" if partial else
            resource.kind + "List",
            "apiVersion": "meta.k8s.io/v1" if partial else resource.api_version,
            "metadata": meta, "items": [untyped(self._shown(one)) for one in found]})

    def _wanted_list(self):
        """Returns the limit of a list, 0 for none, and its version, or None for the
        newest. A list that may come from the server's cache has no limit."""
        limit = number(self.query.get("limit", "0"), "limit")
        given = self.query.get("resourceVersion", "")
        match = self.query.get("resourceVersionMatch", "")
        if match not in ("", "Exact", "NotOlderThan") or match and (
                not given or self.query.get("continue")):
            raise Refusal(422, "Invalid", "resourceVersionMatch is forbidden")
        if not given or self.query.get("continue"):
            return limit, None
        self.api.store.check_reached(number(given))
        if match == "Exact" or not match and limit and given != "0":
            return limit, number(given)
        return 0, None

    def _watch(self, resource, namespace, _name, _body, _status):
        if "sendInitialEvents" in self.query:
            raise Refusal(422, "Invalid", "sendInitialEvents is forbidden")
        watch = Watch(self, self._selection(resource, namespace))
        self.api.store.check_reached(watch.version)
        watch.run()


def untyped(obj):
    """Objects in a list do not repeat their kind."""
    return {key: value for key, value in obj.items()
            if key not in ("kind", "apiVersion")}


def group_entry(group, version):
    entry = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [entry], "preferredVersion": entry}


class Watch:
    """The answer to one watch: events in chunks, until the client, its time or a
    fault ends it."""

    def __init__(self, handler, selection):
        self.handler, self.selection = handler, selection
        self.api, self.store = handler.api, handler.api.store
        self.generation = self.api.faults.generation
        query = handler.query
        self.version = number(query.get("resourceVersion") or "0")
        self.bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
        seconds = number(query.get("timeoutSeconds") or "1800", "timeoutSeconds")
        self.ends = time.monotonic() + seconds
        self.next_bookmark = time.monotonic() + self.api.bookmark_seconds

    def run(self):
        handler = self.handler
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            if self.version == 0:
                self._present()
            self._follow()
        except Refusal as refusal:
            if not self._dropped():
                self._event("ERROR", refusal.status())
        if self._dropped():
            handler.close_connection = True
        else:
            handler.wfile.write(b"0\r\n\r\n")

    def _dropped(self):
        return self.generation != self.api.faults.generation

    def _present(self):
        """Sends the present objects as added."""
        self.version, found, _, _ = self.store.list(self.selection)
        for obj in found:
            self._event("ADDED", obj)

    def _follow(self):
        while not self._dropped() and time.monotonic() < self.ends:
            with self.store.changed:
                changes = self.store.since(self.version)
                if not changes:
                    self.store.changed.wait(0.05)
                    changes = self.store.since(self.version)
            for change in changes:
                self.version = change.version
                event = change.event(self.selection)
                if event and not self._dropped():
                    self._event(*event)
            self._bookmark()
            if self._client_has_gone():
                self.generation = None
        self._bookmark(last=True)

    def _bookmark(self, last=False):
        if not self.bookmarks or self._dropped() or \
                not last and time.monotonic() < self.next_bookmark:
            return
        self.next_bookmark = time.monotonic() + self.api.bookmark_seconds
        resource = self.selection.resource
        self._event("BOOKMARK", versioned(
            {"kind": resource.kind, "apiVersion": resource.api_version,
             "metadata": {"creationTimestamp": None}}, self.version))

    def _client_has_gone(self):
        """A client sends nothing during a watch but its end."""
        return bool(select.select([self.handler.connection], [], [], 0)[0])

    def _event(self, kind, obj):
        shown = obj if kind in ("ERROR", "BOOKMARK") else self.handler._shown(obj)
        data = json.dumps({"type": kind, "object": shown}).encode() + b"\n"
        self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
