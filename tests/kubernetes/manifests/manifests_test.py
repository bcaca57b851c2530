#!/usr/bin/env python3
"""Each change of the manifests or of the page that these tests make is a mistake, and the
checks must report it."""
import unittest

import fields
import manifests
import manifests_check
import rules

JOB = "job-multi.yaml"
TORCH = "job-torch.yaml"


def page():
    with open(rules.PAGE, encoding="utf-8") as file:
        return file.read()


class Case(unittest.TestCase):
    """Each test has manifests of its own, which it changes."""

    def setUp(self):
        self.found = manifests.Manifests()
        self.page = page()
        self.pod = rules.pod_of(self.found)
        self.agent, = self.pod["containers"]
        self.install, = self.pod["initContainers"]

    def job(self, file=JOB):
        job, = [one for one in self.found.examples[file] if one["kind"] == "Job"]
        return job

    def container(self, file=JOB):
        container, = self.job(file)["spec"]["template"]["spec"]["containers"]
        return container

    def volume(self, name):
        return rules.volume(self.pod, name)


class FieldsTest(Case):
    """Fields against the table of types."""

    def problems(self, document):
        return fields.check(document, fields.read()[1])[0]

    def test_a_field_that_does_not_exist_is_refused(self):
        self.agent["resource"] = self.agent.pop("resources")
        self.assertEqual(
            self.problems(self.found.one("DaemonSet")),
            ["apps/v1 DaemonSet has no field spec.template.spec.containers.resource"])

    def test_a_field_at_another_place_is_refused(self):
        self.found.one("DaemonSet")["spec"]["hostPID"] = False
        self.assertIn("no field spec.hostPID",
                      self.problems(self.found.one("DaemonSet"))[0])

    def test_a_kind_of_another_version_is_refused(self):
        self.found.one("PodDisruptionBudget")["apiVersion"] = "policy/v1beta1"
        self.assertTrue(self.problems(self.found.one("PodDisruptionBudget")))

    def test_a_value_of_another_type_is_refused(self):
        for place, name, value in ((self.agent["resources"]["limits"], "memory", 1024),
                                   (self.agent["securityContext"], "runAsUser", "0"),
                                   (self.agent["securityContext"], "runAsUser", True),
                                   (self.agent, "args", "--cluster"),
                                   (self.pod, "hostPID", "false"),
                                   (self.pod, "tolerations", {"operator": "Exists"})):
            before, place[name] = place[name], value
            self.assertTrue(self.problems_of_daemon_set(), f"{name}: {value}")
            place[name] = before
        self.assertFalse(self.problems_of_daemon_set())

    def problems_of_daemon_set(self):
        try:
            return self.problems(self.found.one("DaemonSet"))
        except (AttributeError, TypeError) as error:
            return [str(error)]

    def test_a_required_field_is_required(self):
        del self.agent["ports"][1]["containerPort"]
        self.assertEqual(self.problems(self.found.one("DaemonSet")),
                         ["apps/v1 DaemonSet needs "
                          "spec.template.spec.containers.ports.containerPort"])

    def test_a_file_names_the_version_that_it_needs(self):
        rows = fields.read()[1]
        for allowed, problems in (("1.29", 0), ("1.32", 1), ("", 1)):
            self.assertEqual(len(list(manifests_check.field_problems(
                [self.job()], JOB, rows, allowed))), problems)

    def test_versions_are_compared_as_numbers(self):
        self.assertEqual(fields.later("1.9", "1.29"), "1.29")
        self.assertEqual(fields.later("1.9", ""), "1.9")

    def test_a_key_that_is_there_twice_is_refused(self):
        with self.assertRaises(manifests.yaml.YAMLError):
            manifests.yaml.load("a: 1\nb: {c: 1, c: 2}\n", manifests.StrictLoader)

    def test_files_beside_the_kustomization_are_part_of_it(self):
        self.found.kustomization["resources"].remove("pdb.yaml")
        self.found.kustomization["resources"].append("more.yaml")
        self.found.kustomization["patchs"] = []
        self.assertEqual(len(self.found.problems()), 3)


def without(rule, change):
    """Returns a test of a change that the rule must report."""
    def test(self):
        self.assertEqual(list(rule(self.found, self.page)), [])
        change(self)
        self.assertTrue(list(rule(self.found, self.page)))
    return test


def replace_page(old, new):
    def change(self):
        assert old in self.page, old
        self.page = self.page.replace(old, new)
    return change


def labels(self):
    return rules.template_labels(self.found)


def pairs(container, name):
    """Returns the dictionary of a container's environment variable."""
    found, = [one for one in container["env"] if one["name"] == name]
    return found


MISTAKES = {
    rules.selectors_match: {
        "another label of the pods": lambda self: labels(self).clear(),
        "a Service without a selector":
            lambda self: self.found.one("Service")["spec"].update(selector={}),
        "other peers": lambda self: self.found.one("NetworkPolicy")["spec"]["ingress"][0][
            "from"][0]["podSelector"]["matchLabels"].update(app="other")},
    rules.volumes_are_mounted: {
        "a mount without its volume": lambda self: self.pod["volumes"].pop(0),
        "a volume without its mount": lambda self: self.agent["volumeMounts"].pop(0),
        "two mounts at a path":
            lambda self: self.agent["volumeMounts"][0].update(mountPath="/run/canopy"),
        "a volume that is there twice":
            lambda self: self.pod["volumes"].append(self.pod["volumes"][0])},
    rules.node_directories_are_documented: {
        "another directory of the node":
            lambda self: self.volume("run")["hostPath"].update(path="/run"),
        "a mount that can be written":
            lambda self: self.agent["volumeMounts"][2].pop("readOnly"),
        "a mount more": lambda self: self.install["volumeMounts"].append(
            {"name": "proc", "mountPath": "/proc"}),
        "a documented mount more": replace_page(
            "| `/proc` |", "| `/etc` | `/etc` | read |\n| `/proc` |")},
    rules.rights_are_documented: {
        "a verb more":
            lambda self: self.found.one("ClusterRole")["rules"][0]["verbs"].append("delete"),
        "a resource more": lambda self: self.found.one("ClusterRole")["rules"][0][
            "resources"].append("secrets")},
    rules.binding_names_exist: {
        "another role": lambda self: self.found.one("ClusterRoleBinding")[
            "roleRef"].update(name="admin"),
        "another account": lambda self: self.pod.update(serviceAccountName="default"),
        "another subject": lambda self: self.found.one("ClusterRoleBinding")["subjects"][
            0].update(namespace="default"),
        "another class": lambda self: self.pod.update(priorityClassName="system")},
    rules.containers_have_no_privileges: {
        "the host's processes": lambda self: self.pod.update(hostPID=True),
        "the host's network": lambda self: self.pod.update(hostNetwork=True),
        "a capability": lambda self: self.agent["securityContext"]["capabilities"].update(
            add=["SYS_PTRACE"]),
        "all default capabilities":
            lambda self: self.install["securityContext"].pop("capabilities"),
        "a privileged container":
            lambda self: self.install["securityContext"].update(privileged=True),
        "a root file system that changes": lambda self: self.agent[
            "securityContext"].update(readOnlyRootFilesystem=False),
        "no seccomp": lambda self: self.agent["securityContext"]["seccompProfile"].update(
            type="Unconfined")},
    rules.ports_agree: {
        "another port of the file": lambda self: self.found.cluster.update(port=9000),
        "another port of the container":
            lambda self: self.agent["ports"][0].update(containerPort=9000),
        "two ports with a name": lambda self: self.agent["ports"][1].update(name="overlay"),
        "another port of the Service": lambda self: self.found.one("Service")["spec"][
            "ports"][0].update(port=80),
        "a port that others cannot reach": lambda self: self.found.one("NetworkPolicy")[
            "spec"]["ingress"][0]["ports"].pop()},
    rules.names_of_configuration_exist: {
        "another ConfigMap": lambda self: self.volume("config")["projected"]["sources"][0][
            "configMap"].update(name="other"),
        "a Secret that nobody makes": replace_page("create secret generic canopyd-key",
                                                   "create secret generic other")},
    rules.configuration_is_where_agents_read: {
        "another directory": lambda self: self.agent["args"].__setitem__(
            1, "/etc/cluster.toml"),
        "another file": lambda self: self.agent["args"].__setitem__(
            1, "/etc/canopy/other.toml"),
        "another key": lambda self: self.found.cluster.update({"key-file": "key"}),
        "a key that others can read":
            lambda self: self.volume("config")["projected"].update(defaultMode=0o444)},
    rules.paths_of_the_cluster_file_are_mounted: {
        "another /proc": lambda self: self.found.cluster["kubernetes"].update(
            {"host-proc": "/proc"}),
        "another path of kubelet": lambda self: self.found.cluster["kubernetes"].update(
            {"device-plugins": "/plugins"}),
        "another path of the socket": lambda self: self.found.cluster["kubernetes"].update(
            {"host-run": "/run/other"}),
        "another path of the files": lambda self: self.found.cluster["kubernetes"].update(
            {"host-files": "/opt/other"}),
        "another argument": lambda self: self.install["args"].__setitem__(0, "/opt/canopy"),
        "a directory that outlives the pod": lambda self: self.found.cluster.update(
            directory="/run/canopy/agent")},
    rules.image_has_programs_and_directories: {
        "another program": lambda self: self.agent.update(command=["/bin/canopyd"]),
        "a mount without its directory":
            lambda self: self.agent["volumeMounts"][0].update(mountPath="/run/other")},
    rules.members_are_the_agents: {
        "another name": lambda self: self.found.cluster.update({"nodes-from": "dns:agents"}),
        "one address": lambda self: self.found.one("Service")["spec"].pop(
            "clusterIP") and self.found.one("Service")["spec"].update(clusterIP=""),
        "only agents that are ready": lambda self: self.found.one("Service")["spec"].pop(
            "publishNotReadyAddresses")},
    rules.names_are_unique: {
        "an object that is there twice":
            lambda self: self.found.base.append(self.found.base[-1]),
        "another namespace": lambda self: self.found.one("Service")["metadata"].update(
            namespace="default")},
    rules.image_is_known: {
        "an image without a name": lambda self: self.install.update(image="busybox"),
        "another version": lambda self: self.found.kustomization["images"][0].update(
            newTag="0.0.1")},
    rules.resource_is_the_same: {
        "another resource of a job": lambda self: self.container()["resources"].update(
            limits={"canopy.dev/ranks": "8"}),
        "another resource of the quota": lambda self: self.found.examples[
            "tenant-quota.yaml"][0]["spec"].update(hard={"canopy.dev/rank": "1",
                                                         "limits.canopy.dev/rank": "1"}),
        "another resource of the agents": lambda self: self.found.cluster[
            "kubernetes"].update(resource="example.org/rank")},
    rules.jobs_can_start: {
        "not all ranks at once": lambda self: self.job()["spec"].update(parallelism=2),
        "pods without a number": lambda self: self.job()["spec"].update(
            completionMode="NonIndexed"),
        "pods that start again": lambda self: self.job()["spec"]["template"]["spec"].update(
            restartPolicy="OnFailure"),
        "two pods on a node": lambda self: self.job()["metadata"].update(name="other"),
        "a volume": lambda self: self.job()["spec"]["template"]["spec"].update(volumes=[]),
        "another number of ranks": lambda self: pairs(
            self.container(TORCH), "WORLD_SIZE").update(value="8"),
        "another address of rank 0": lambda self: pairs(
            self.container(TORCH), "MASTER_ADDR").update(value="train-1.train"),
        "another port of rank 0": lambda self: pairs(
            self.container(TORCH), "MASTER_PORT").update(value="29501"),
        "a Service of other pods": lambda self: self.found.examples[TORCH][0][
            "spec"].update(selector={"job-name": "other"})},
    rules.restricted_jobs_are_admitted: {
        "a user who may be root": lambda self: self.job()["spec"]["template"]["spec"][
            "securityContext"].pop("runAsNonRoot"),
        "no seccomp": lambda self: self.job()["spec"]["template"]["spec"][
            "securityContext"].pop("seccompProfile"),
        "privileges": lambda self: self.container()["securityContext"].pop(
            "allowPrivilegeEscalation"),
        "capabilities": lambda self: self.container()["securityContext"].update(
            capabilities={"drop": ["NET_RAW"]}),
        "a container without limits":
            lambda self: self.container().pop("securityContext")},
    rules.examples_are_documented: {
        "an example that the page lacks":
            lambda self: self.found.examples.update({"more.yaml": []})},
}


class RulesTest(Case):
    """Rules between fields."""

    def test_every_rule_has_mistakes(self):
        self.assertEqual(set(MISTAKES), set(rules.RULES))


for of, mistakes in MISTAKES.items():
    for name, mistake in mistakes.items():
        setattr(RulesTest, f"test_{of.__name__}_{name.replace(' ', '_')}",
                without(of, mistake))


if __name__ == "__main__":
    unittest.main()
