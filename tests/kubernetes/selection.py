"""Resources of the fake API server, and the selectors that choose some of their
objects, in the notation of Kubernetes."""
import dataclasses
import re

TERM = re.compile(r"\s*(!?)([\w./-]+)\s*(?:(==|=|!=)\s*([\w./-]*)|"
                  r"(in|notin)\s*\(([^)]*)\))?\s*(?:,|$)")
# The fields that each resource can be selected by; every resource has NAMES.
NAMES = ("metadata.name", "metadata.namespace")
FIELDS = {"pods": ("spec.nodeName", "status.phase", "status.podIP"),
          "jobs": ("status.successful",),
          "events": ("involvedObject.name", "regarding.name", "reason")}


class Refusal(Exception):
    """A request that the server answers with an object of kind Status."""

    def __init__(self, code, reason, message, retry_after=None):
        super().__init__(message)
        self.code, self.reason, self.retry_after = code, reason, retry_after

    def status(self):
        details = {} if self.retry_after is None else \
            {"details": {"retryAfterSeconds": self.retry_after}}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {},
                "status": "Failure", "message": str(self),
                "reason": self.reason, "code": self.code, **details}


def expired(version, oldest):
    return Refusal(410, "Expired",
                   f"too old resource version: {version} ({oldest})")


@dataclasses.dataclass(frozen=True)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    status: bool = False  # has the subresource `status`

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self):
        """The part of the path before namespace and name."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"

    def described(self):
        """Yields the entries of the discovery document of the group."""
        common = {"singularName": self.kind.lower(), "kind": self.kind,
                  "namespaced": self.namespaced}
        yield {"name": self.plural, **common, "verbs": [
            "create", "delete", "get", "list", "patch", "update", "watch"]}
        if self.status:
            yield {"name": f"{self.plural}/status", **common,
                   "verbs": ["get", "patch", "update"]}


RESOURCES = (
    Resource("", "v1", "pods", "Pod", status=True),
    Resource("", "v1", "nodes", "Node", namespaced=False, status=True),
    Resource("", "v1", "namespaces", "Namespace", namespaced=False),
    Resource("batch", "v1", "jobs", "Job", status=True),
    Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    Resource("events.k8s.io", "v1", "events", "Event"),
)


def terms(text):
    """Returns the terms of a selector: a key, a set of values or None for any
    value, and whether the key must have one of the values."""
    found, at = [], 0
    while at < len(text):
        match = TERM.match(text, at)
        if not match:
            raise Refusal(400, "BadRequest", f"unable to parse selector: {text}")
        absent, key, operator, value, word, values = match.groups()
        if word:
            found.append((key, {one.strip() for one in values.split(",")},
                          word == "in"))
        elif operator:
            found.append((key, {value}, operator != "!="))
        else:
            found.append((key, None, not absent))
        at = match.end()
    return found


def field(obj, path):
    for part in path.split("."):
        obj = obj.get(part, "") if isinstance(obj, dict) else ""
    return obj if isinstance(obj, str) else str(obj)


class Selection:
    """The objects of a list or a watch. NAMESPACE None: of all namespaces."""

    def __init__(self, resource, namespace=None, labels="", fields=""):
        self.resource, self.namespace = resource, namespace
        self.labels, self.fields = terms(labels), terms(fields)
        for key, values, _ in self.fields:
            if values is None or key not in \
                    NAMES + FIELDS.get(resource.plural, ()):
                raise Refusal(400, "BadRequest",
                              f"field label not supported: {key}")

    def matches(self, obj):
        if obj is None:
            return False
        meta = obj["metadata"]
        if self.namespace is not None and meta.get("namespace") != self.namespace:
            return False
        labels = meta.get("labels") or {}
        return (all(self._fits(labels.get(key), values, wanted)
                    for key, values, wanted in self.labels) and
                all((field(obj, key) in values) == wanted
                    for key, values, wanted in self.fields))

    @staticmethod
    def _fits(value, values, wanted):
        return wanted == (value is not None and
                          (values is None or value in values))
