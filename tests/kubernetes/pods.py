"""A small Kubernetes on this machine, for tests: the fake API server, nodes with
fake kubelets, a scheduler and a controller of jobs, and emulated pods.

    with pods.Cluster(directory, nodes=4) as cluster:
        job = cluster.apply_job("pi", completions=4, ranks=2, command=["./pi"])
        job.wait()

Needs root, and a network namespace of its own. Everything is gone at the end.
"""
import os
import threading
import time

import cgroups
import fake_api
from containers import Container, Network
from fake_kubelet import Kubelet
from job import Job
from pod import (  # noqa: F401
    EVICTION, IMAGE_PULL, PREEMPTION, RANKS, UNSCHEDULABLE, Pod, Template,
    Unschedulable, condition)
from selection import Refusal


class Node:
    """One emulated node, with the directories and the address of its agent."""

    def __init__(self, index, directory, address):
        self.index, self.name = index, f"n{index + 1}"
        self.directory = os.path.join(directory, self.name)
        self.device_plugins = os.path.join(self.directory, "device-plugins")
        self.run = os.path.join(self.directory, "run")
        self.address = address
        os.makedirs(self.run)
        os.chmod(self.run, 0o755)
        self.kubelet = Kubelet(self.device_plugins, old_authority=index % 2 == 1)

    def object(self):
        return {"metadata": {"name": self.name, "labels": {
            "kubernetes.io/hostname": self.name}}, "spec": {}, "status": {
                "addresses": [{"type": "InternalIP", "address": self.address}],
                "conditions": [condition("Ready", "KubeletReady")]}}


class Cluster:
    """NODES nodes n1, n2, ... in DIRECTORY. MORE are keyword arguments of the API
    server."""

    container = Container  # for pods without objects

    def __init__(self, directory, nodes=1, **more):
        self.directory = directory
        self.pods, self.jobs = {}, {}
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.made = 0
        self.network = Network()
        try:
            self.api = fake_api.Server(os.path.join(directory, "api"),
                                       Network.GATEWAY, **more)
        except BaseException:
            self.network.close()
            raise
        self.api.logs = self._log
        self.nodes = [Node(i, directory, self.network.host(i))
                      for i in range(nodes)]
        for node in self.nodes:
            self.api.create("nodes", None, node.object())
            node.kubelet.start()
        self.controller = threading.Thread(target=self._control, daemon=True)
        self.controller.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def node(self, name):
        return next(one for one in self.nodes if one.name == name)

    def suffix(self):
        """Returns the random part of a pod's name, which no other pod has."""
        with self.lock:
            self.made += 1
            return f"{os.urandom(1).hex()}{self.made:03}"

    def apply_job(self, name, command, completions=1, ranks=1, namespace="default",
                  parallelism=None, hold=None, nodes=None, **template):
        """Creates an Indexed Job and its pods. HOLD are reasons for which pods do
        not start, by index; NODES are the names of the nodes of the pods. The rest
        is as in Template."""
        return Job(self, name, namespace, completions, parallelism or completions,
                   Template(command, ranks, **template), hold or {}, nodes)

    def run_pod(self, name, command, ranks=1, namespace="default", node=None,
                index=None, owner=None, **template):
        """Creates a pod that no controller manages, whatever its OWNER is."""
        return Pod(self, name, namespace, Template(command, ranks, **template),
                   index, owner, node=node)

    def wait_for_devices(self, count=1, resource=RANKS, seconds=60):
        """Waits until each node offers COUNT devices; returns the names of nodes
        that do not."""
        deadline = time.monotonic() + seconds
        return [node.name for node in self.nodes if not node.kubelet.wait_for(
            resource, count, max(deadline - time.monotonic(), 0))]

    def choose(self, pod):
        """Sets the node of a pod: the pods of a job are spread, in order."""
        template = pod.template
        with self.lock:
            standing = [one for one in self.pods.values()
                        if one.node and not one.ended.is_set()]
            for i in range(len(self.nodes)):
                node = self.nodes[((pod.index or 0) + i) % len(self.nodes)]
                used = sum(one.template.ranks for one in standing
                           if one.node is node)
                if pod.wanted_node in (None, node.name) and template.ranks <= \
                        node.kubelet.capacity(template.resource) - used:
                    pod.node = node
                    return
        raise Unschedulable(f"0/{len(self.nodes)} nodes are available: "
                            f"{len(self.nodes)} Insufficient {template.resource}.")

    def publish(self, service, namespace, nodes, port):
        """Writes the EndpointSlice of a service with a pod on each of these NODES.
        """
        name = f"{service}-slice"
        self.delete_quietly("endpointslices", namespace, name)
        self.api.create("endpointslices", namespace, {
            "metadata": {"name": name,
                         "labels": {"kubernetes.io/service-name": service}},
            "addressType": "IPv4", "ports": [{"name": "overlay", "port": port,
                                              "protocol": "TCP"}],
            "endpoints": [{"addresses": [node.address], "nodeName": node.name,
                           "conditions": {"ready": True, "serving": True,
                                          "terminating": False}}
                          for node in nodes]})

    def delete_quietly(self, plural, namespace, name):
        try:
            self.api.delete(plural, namespace, name)
        except Refusal:
            pass  # it is gone already

    def _control(self):
        """Ends the pods whose objects were marked or removed, and deletes the pods
        of deleted jobs."""
        store = self.api.store
        version = store.version
        while not self.closing.is_set():
            with store.changed:
                store.changed.wait(0.1)
                changes = [one for one in store.history if one.version > version]
                version = store.version
            for change in changes:
                self._act_on(change)

    def _act_on(self, change):
        uid = (change.new or change.old)["metadata"]["uid"]
        pod, job = self.pods.get(uid), self.jobs.get(uid)
        if pod and change.new is None:
            pod.gone.set()
        if pod and (change.new is None or
                    "deletionTimestamp" in change.new["metadata"]):
            meta = (change.new or {}).get("metadata", {})
            pod.end(meta.get("deletionGracePeriodSeconds", 0))
        if job and change.new is None:
            for one in job.pods:
                self.delete_quietly("pods", job.namespace, one.name)

    def _log(self, namespace, name):
        for pod in self.pods.values():
            if (pod.namespace, pod.name) == (namespace, name):
                return pod.log().encode()
        raise Refusal(404, "NotFound", f'pods "{name}" not found')

    def close(self):
        """Ends all pods at once and removes everything. Raises an error if
        something remains."""
        for pod in list(self.pods.values()):
            pod.end(0)
        for pod in list(self.pods.values()):
            pod.thread.join(30)
        self.closing.set()
        self.controller.join()
        for node in self.nodes:
            node.kubelet.stop()
        self.api.close()
        self.network.close()
        left = [path for path in cgroups.left()
                for uid in self.pods if uid in path]
        standing = [pod.name for pod in self.pods.values() if pod.thread.is_alive()]
        if left or standing:
            raise RuntimeError(f"left behind: {left + standing}")
