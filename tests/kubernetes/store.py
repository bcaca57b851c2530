"""The objects of the fake API server, with the versions and the history from
which lists and watches are answered."""
import base64
import collections
import copy
import dataclasses
import datetime
import json
import threading
import uuid

from selection import Refusal, expired

HISTORY = 4096  # changes that a watch can begin with
# What a writer cannot change.
FIXED = ("uid", "creationTimestamp", "namespace", "name", "deletionTimestamp",
         "deletionGracePeriodSeconds", "generation")


def now(fraction=False):
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if fraction else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.datetime.now(datetime.timezone.utc).strftime(form)


@dataclasses.dataclass(frozen=True)
class Change:
    """A change of one object; OLD is None at its creation, NEW at its end."""
    version: int
    where: tuple
    old: dict
    new: dict

    def event(self, selection):
        """Returns the type and object of the event for a watch, or None."""
        if self.where[:2] != key(selection.resource):
            return None
        was, is_now = selection.matches(self.old), selection.matches(self.new)
        if is_now:
            return "MODIFIED" if was else "ADDED", self.new
        return ("DELETED", versioned(self.old, self.version)) if was else None


def key(resource):
    return resource.group, resource.plural


def versioned(obj, version):
    meta = dict(obj["metadata"], resourceVersion=str(version))
    return dict(obj, metadata=meta)


def merged(target, patch):
    """Returns TARGET after a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def number(text, what="resourceVersion"):
    if not text.isdigit():
        raise Refusal(400, "BadRequest", f"invalid {what}: {text!r}")
    return int(text)


class Store:
    """All methods may be called by any thread. Objects that it returns must not
    be changed."""

    def __init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.version = 1000
        self.oldest = self.version  # the first version a watch can begin at
        self.objects = {}
        self.history = collections.deque()

    # Reading.

    def get(self, resource, namespace, name):
        with self.changed:
            found = self.objects.get((*key(resource), namespace or "", name))
        if found is None:
            raise Refusal(404, "NotFound", f'{resource.plural} "{name}" not found')
        return found

    def check_reached(self, version):
        """Refuses a version that the server does not have yet."""
        with self.changed:
            if version > self.version:
                raise Refusal(504, "Timeout", "Too large resource version: "
                              f"{version}, current: {self.version}", 1)

    def list(self, selection, limit=0, token="", version=None):
        """Returns the version of the list, its objects, the token of the next part,
        and the number of objects in later parts. All parts are of one version.
        """
        with self.changed:
            version, after = version or self.version, ()
            if token:
                version, *after = json.loads(base64.urlsafe_b64decode(token))
            found = [(where, obj) for where, obj in sorted(self._at(version).items())
                     if where[:2] == key(selection.resource) and
                     where[2:] > tuple(after) and selection.matches(obj)]
        part = found[:limit] if limit else found
        rest = len(found) - len(part)
        more = base64.urlsafe_b64encode(json.dumps(
            [version, *part[-1][0][2:]]).encode()).decode() if rest else ""
        return version, [obj for _, obj in part], more, rest

    def _at(self, version):
        """Returns the objects as they were at a version."""
        if version < self.oldest:
            raise expired(version, self.oldest)
        objects = dict(self.objects)
        for change in reversed(self.history):
            if change.version <= version:
                break
            if change.old is None:
                del objects[change.where]
            else:
                objects[change.where] = change.old
        return objects

    def since(self, version):
        """Returns the changes after a version; call with `changed` held."""
        if version < self.oldest:
            raise expired(version, self.oldest)
        new = []
        for change in reversed(self.history):
            if change.version <= version:
                break
            new.append(change)
        return new[::-1]

    def expire(self):
        """Forgets the history, so that watches cannot begin in the past. The
        version rises, as if objects of other resources had changed."""
        with self.changed:
            self.version += 1000
            self.oldest = self.version
            self.history.clear()

    # Writing.

    def create(self, resource, namespace, obj):
        obj = copy.deepcopy(obj)
        meta = obj.setdefault("metadata", {})
        if not meta.get("name"):
            if not meta.get("generateName"):
                raise Refusal(422, "Invalid", "name or generateName is required")
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
        if resource.namespaced:
            if meta.get("namespace", namespace) != namespace:
                raise Refusal(400, "BadRequest", "the namespace of the object does "
                              "not match the namespace of the request")
            meta["namespace"] = namespace
        obj.update(kind=resource.kind, apiVersion=resource.api_version)
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=now())
        if "spec" in obj:
            meta["generation"] = 1
        if resource.kind == "Pod":
            obj["status"] = {"phase": "Pending", "qosClass": "Burstable"}
        where = (*key(resource), meta.get("namespace", ""), meta["name"])
        with self.changed:
            if where in self.objects:
                raise Refusal(409, "AlreadyExists",
                              f'{resource.plural} "{meta["name"]}" already exists')
            return self._put(where, None, obj)

    def update(self, resource, namespace, name, obj, status=False):
        """Replaces an object, or only its STATUS, or all but its status."""
        with self.changed:
            old = self.get(resource, namespace, name)
            given = obj.get("metadata", {}).get("resourceVersion")
            if given and given != old["metadata"]["resourceVersion"]:
                raise Refusal(409, "Conflict", f'operation cannot be fulfilled on '
                              f'"{name}": the object has been modified')
            return self._replace(resource, old, copy.deepcopy(obj), status)

    def patch(self, resource, namespace, name, patch, status=False):
        with self.changed:
            old = self.get(resource, namespace, name)
            given = patch.get("metadata", {}).get("resourceVersion")
            if given and given != old["metadata"]["resourceVersion"]:
                raise Refusal(409, "Conflict", "the object has been modified")
            return self._replace(resource, old, merged(old, patch), status)

    def _replace(self, resource, old, new, status):
        if status:
            new = dict(old, status=new.get("status", {}))
        elif resource.status:
            new["status"] = old.get("status", {})
        meta = dict(new.get("metadata", {}))
        for name in FIXED:
            meta.pop(name, None)
            if name in old["metadata"]:
                meta[name] = old["metadata"][name]
        if new.get("spec") != old.get("spec"):
            meta["generation"] = meta.get("generation", 0) + 1
        meta["resourceVersion"] = old["metadata"]["resourceVersion"]
        new.update(metadata=meta, kind=old["kind"], apiVersion=old["apiVersion"])
        if new == old:
            return old
        return self._put((*key(resource), meta.get("namespace", ""), meta["name"]),
                         old, new)

    def delete(self, resource, namespace, name, grace=None):
        """Deletes an object. A pod with a node is only marked, because its kubelet
        ends it, unless GRACE is 0."""
        with self.changed:
            old = self.get(resource, namespace, name)
            if resource.kind == "Pod" and grace != 0 and \
                    old.get("spec", {}).get("nodeName"):
                if "deletionTimestamp" in old["metadata"]:
                    return old
                if grace is None:
                    grace = old["spec"].get("terminationGracePeriodSeconds", 30)
                meta = dict(old["metadata"], deletionTimestamp=now(),
                            deletionGracePeriodSeconds=grace)
                where = (*key(resource), meta["namespace"], name)
                return self._put(where, old, dict(old, metadata=meta))
            where = (*key(resource), old["metadata"].get("namespace", ""), name)
            self.version += 1
            del self.objects[where]
            self._record(Change(self.version, where, old, None))
            return old

    def _put(self, where, old, new):
        self.version += 1
        new = versioned(new, self.version)
        self.objects[where] = new
        self._record(Change(self.version, where, old, new))
        return new

    def _record(self, change):
        self.history.append(change)
        if len(self.history) > HISTORY:
            self.oldest = self.history.popleft().version
        self.changed.notify_all()
