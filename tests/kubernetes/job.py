"""The controller of one Indexed Job."""
import threading
import time

from pod import Pod, condition
from selection import Refusal
from store import now


class Job:
    """An Indexed Job and its pods. The first failure ends all of them, as with the
    back-off limit 0."""

    def __init__(self, cluster, name, namespace, completions, parallelism, template,
                 hold, nodes):
        self.cluster, self.name, self.namespace = cluster, name, namespace
        self.template, self.completions = template, completions
        self.lock = threading.Lock()
        self.failed = False
        self.succeeded = 0
        created = cluster.api.create("jobs", namespace, self._object(parallelism))
        self.uid = created["metadata"]["uid"]
        self.owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name,
                      "uid": self.uid, "controller": True,
                      "blockOwnerDeletion": True}
        cluster.jobs[self.uid] = self
        self.pods = []
        for i in range(min(parallelism, completions)):
            self.pods.append(self._pod(i, hold.get(i), nodes[i] if nodes else None))

    def _object(self, parallelism):
        template = {"metadata": {"labels": self.template.labels,
                                 "annotations": self.template.annotations},
                    "spec": self.template.spec()}
        return {"metadata": {"name": self.name,
                             "annotations": self.template.annotations},
                "spec": {"completions": self.completions, "backoffLimit": 0,
                         "parallelism": parallelism, "suspend": False,
                         "completionMode": "Indexed", "template": template},
                "status": {}}

    def _pod(self, index, hold, node):
        labels = {"job-name": self.name, "controller-uid": self.uid,
                  "batch.kubernetes.io/job-name": self.name,
                  "batch.kubernetes.io/controller-uid": self.uid,
                  "batch.kubernetes.io/job-completion-index": str(index)}
        name = f"{self.name}-{index}-{self.cluster.suffix()}"
        return Pod(self.cluster, name, self.namespace, self.template, index,
                   self.owner, labels, hold, node, self._pod_ended)

    def _pod_ended(self, pod):
        with self.lock:
            if pod.exit_code == 0:
                self.succeeded += 1
                if self.succeeded == self.completions:
                    self._report("Complete", "CompletionsReached")
            elif not self.failed:
                self.failed = True
                self._report("Failed", "BackoffLimitExceeded")
            else:
                return
        if self.failed:
            for one in list(self.pods):
                if one is not pod and not one.ended.is_set():
                    self.cluster.delete_quietly("pods", self.namespace, one.name)

    def _report(self, kind, reason):
        try:
            self.cluster.api.patch("jobs", self.namespace, self.name, {"status": {
                "succeeded": self.succeeded, "conditions": [condition(kind, reason)],
                "completionTime": now()}}, status=True)
        except Refusal:
            pass  # the test has deleted the job

    def delete(self):
        """Deletes the job and, by their owner, its pods."""
        self.cluster.delete_quietly("jobs", self.namespace, self.name)

    def release(self, index):
        self.pods[index].release()

    def wait(self, seconds=120):
        """Waits for the end of all pods. Returns their exit codes; None is the code
        of a pod that has not run, or has not ended."""
        deadline = time.monotonic() + seconds
        for pod in self.pods:
            pod.wait(max(deadline - time.monotonic(), 0))
        return [pod.exit_code for pod in self.pods]

    def logs(self):
        """Returns what all pods have printed, with their names."""
        return "".join(f"{pod.name}: {line}\n" for pod in self.pods
                       for line in pod.log().splitlines())
