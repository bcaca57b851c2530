"""One emulated pod: its object at the API server, and its container."""
import dataclasses
import os
import threading

from containers import Container
from fake_kubelet import Rejected
from selection import Refusal
from store import now

RANKS = "canopy.dev/rank"
UNSCHEDULABLE, IMAGE_PULL = "Unschedulable", "ImagePullBackOff"
CODES = {0: "Completed", 128: "StartError"}
# Reasons of the condition DisruptionTarget.
EVICTION, PREEMPTION = "EvictionByEvictionAPI", "PreemptionByScheduler"


class Unschedulable(Exception):
    """No node can take the pod; the message is the scheduler's."""


@dataclasses.dataclass
class Template:
    """What the pods of a job have in common. VOLUMES are (host path, container
    path, whether it is read-only), and MORE are keyword arguments of Container;
    the objects do not show either."""
    command: list
    ranks: int = 1
    resource: str = RANKS
    memory: int = None
    image: str = "registry.example/solver:1"
    environment: dict = dataclasses.field(default_factory=dict)
    labels: dict = dataclasses.field(default_factory=dict)
    annotations: dict = dataclasses.field(default_factory=dict)
    volumes: tuple = ()
    grace: int = 30
    status_delay: float = 0.0  # of the report that a container runs
    more: dict = dataclasses.field(default_factory=dict)

    def spec(self):
        limits = {self.resource: str(self.ranks)} if self.ranks else {}
        if self.memory:
            limits["memory"] = str(self.memory)
        return {"restartPolicy": "Never", "terminationGracePeriodSeconds": self.grace,
                "containers": [{
                    "name": "rank", "image": self.image,
                    "command": [str(word) for word in self.command],
                    "env": [{"name": name, "value": value} for name, value in
                            self.environment.items()],
                    "resources": {"limits": limits, "requests": dict(limits)}}]}


def condition(kind, reason, message="", true=True):
    return {"type": kind, "status": "True" if true else "False",
            "reason": reason, "message": message, "lastTransitionTime": now()}


class Pod:
    """One pod: its object at the API server, and its container. A thread takes it
    through its life, as scheduler and kubelet do."""

    def __init__(self, cluster, name, namespace, template, index=None, owner=None,
                 labels=None, hold=None, node=None, on_end=None):
        self.cluster, self.name, self.namespace = cluster, name, namespace
        self.template, self.index = template, index
        self.node = None
        self.wanted_node = node  # None: any
        self.container = None
        self.exit_code = None
        self.hold = hold  # why it does not start, or None
        self.released = threading.Event()
        self.deleted = threading.Event()
        self.started = threading.Event()
        self.ended = threading.Event()
        self.gone = threading.Event()  # the object was removed
        self.on_end = on_end
        self.reason = None  # why it is not scheduled
        self.allocation = None
        self.grace = template.grace
        self.problem = None  # an error of the test bed
        annotations = dict(template.annotations)
        if index is not None:
            annotations["batch.kubernetes.io/job-completion-index"] = str(index)
        meta = {"name": name, "labels": {**template.labels, **(labels or {})},
                "annotations": annotations}
        if owner:
            meta["ownerReferences"] = [owner]
        self.uid = cluster.api.create("pods", namespace, {
            "metadata": meta, "spec": dict(template.spec(), hostname=name)}
        )["metadata"]["uid"]
        self.directory = os.path.join(cluster.directory, "pods", self.uid)
        os.makedirs(self.directory)
        cluster.pods[self.uid] = self
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()

    # Its life.

    def _live(self):
        try:
            if self._scheduled() and self._admitted() and self._image_is_there():
                self._run()
        except Exception as error:  # the test shall see it
            self.problem = error
            self._finished("Failed", {"waiting": {"reason": "RunContainerError",
                                                  "message": str(error)}})
        finally:
            if self.allocation:
                self.node.kubelet.release(self.allocation)
            self.ended.set()
            if self.deleted.is_set():
                self._vanish()
            if self.on_end:
                self.on_end(self)

    def _scheduled(self):
        """Waits for a node with enough devices. Returns whether there is one."""
        while not self.deleted.is_set():
            if self.hold == UNSCHEDULABLE and not self.released.is_set():
                self._waits(f"0/{len(self.cluster.nodes)} nodes are available: "
                            f"{len(self.cluster.nodes)} Insufficient memory.")
                self.released.wait(0.05)
                continue
            try:
                self.cluster.choose(self)
            except Unschedulable as reason:
                self._waits(str(reason))
                self.deleted.wait(0.05)
                continue
            self._bind()
            return True
        return False

    def _waits(self, message):
        if message != self.reason:
            self.reason = message
            self.status(conditions=[condition("PodScheduled", UNSCHEDULABLE, message,
                                              true=False)])

    def _bind(self):
        self.cluster.api.patch("pods", self.namespace, self.name,
                               {"spec": {"nodeName": self.node.name}})
        self.status(conditions=[condition("PodScheduled", "")])

    def _admitted(self):
        """Allocates the devices. Returns whether the kubelet takes the pod."""
        self.status(hostIP=self.node.address, startTime=now())
        try:
            if self.template.ranks:
                self.allocation = self.node.kubelet.allocate(
                    self.template.resource, self.template.ranks)
        except Rejected as reason:
            self.status(phase="Failed", reason="UnexpectedAdmissionError",
                        message=str(reason))
            return False
        self.status(containerStatuses=[self._container(
            {"waiting": {"reason": "ContainerCreating"}})])
        return True

    def _image_is_there(self):
        if self.hold == IMAGE_PULL:
            self.status(containerStatuses=[self._container({"waiting": {
                "reason": IMAGE_PULL, "message": "Back-off pulling image "
                f'"{self.template.image}"'}})])
            while not self.released.wait(0.05):
                if self.deleted.is_set():
                    return False
        return not self.deleted.is_set()

    def _run(self):
        template = self.template
        address = self.cluster.network.address(self.node.index)
        begun = now()
        self.container = Container(
            self.cluster.network, self.directory, self.uid, self.name, address,
            template.command, self.allocation, template.environment, template.volumes,
            template.memory, **template.more)
        self.started.set()
        if not self.container.ended.wait(template.status_delay):
            self.status(phase="Running", podIP=address, podIPs=[{"ip": address}],
                        conditions=[condition("PodScheduled", ""),
                                    condition("Ready", "")],
                        containerStatuses=[self._container(
                            {"running": {"startedAt": begun}})])
        if self.deleted.is_set():
            self.container.stop(self.grace)
        self.container.ended.wait()
        self.exit_code = code = self.container.code
        reason = "OOMKilled" if self.container.oom_killed else \
            CODES.get(code, "Error")
        self._finished("Failed" if code else "Succeeded", {"terminated": {
            "exitCode": code, "reason": reason, "startedAt": begun,
            "finishedAt": now(), "containerID": f"containerd://{self.container.id}"}})

    def _finished(self, phase, state):
        self.status(phase=phase, containerStatuses=[self._container(state)])

    def _container(self, state):
        made = {"containerID": f"containerd://{self.container.id}"} \
            if self.container else {}
        return {"name": "rank", "image": self.template.image, "imageID": "",
                "restartCount": 0, "ready": "running" in state,
                "started": "running" in state, "state": state, **made}

    def status(self, **keys):
        try:
            self.cluster.api.patch("pods", self.namespace, self.name,
                                   {"status": keys}, status=True)
        except Refusal:
            pass  # a test has removed the object

    # What tests do.

    def object(self):
        return self.cluster.api.get("pods", self.namespace, self.name)

    def log(self):
        return self.container.log() if self.container else ""

    def release(self):
        """Lets a held pod start."""
        self.released.set()

    def delete(self, grace=None, reason=None):
        """Deletes the pod, as `kubectl delete` does. A REASON becomes the reason of
        the condition DisruptionTarget, as at an eviction."""
        if reason:
            self.status(conditions=[
                condition("DisruptionTarget", reason),
                *self.object()["status"].get("conditions", [])])
        self.cluster.api.delete("pods", self.namespace, self.name, grace)

    def end(self, grace):
        """Called when its object is marked or removed."""
        if self.deleted.is_set():
            return
        self.grace = grace
        self.deleted.set()
        if self.ended.is_set():
            self._vanish()
        elif self.container:
            threading.Thread(target=self.container.stop, args=(grace,),
                             daemon=True).start()

    def _vanish(self):
        try:
            if self.object()["metadata"]["uid"] == self.uid:
                self.cluster.api.delete("pods", self.namespace, self.name, 0)
        except Refusal:
            pass

    def wait(self, seconds=60):
        """Returns the exit code, or None if it has none by then."""
        self.ended.wait(seconds)
        return self.exit_code
