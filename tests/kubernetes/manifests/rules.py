"""Rules between the fields of the manifests: what the types of Kubernetes cannot express.
Each rule yields the problems that it finds."""
import importlib.util
import os
import re

from manifests import ROOT

PAGE = os.path.join(ROOT, "docs", "kubernetes.md")
IMAGE_FILES = os.path.join(ROOT, "deploy", "image", "root.py")
VERSION = os.path.join(ROOT, "common", "version.h")
# Every cluster has this ConfigMap in each namespace.
ROOT_CA = "kube-root-ca.crt"
DEFAULT_PORT = 7117
NO_NAMESPACE = {"Namespace", "PriorityClass", "ClusterRole", "ClusterRoleBinding"}
# The label with the name of its Job that the controller gives to a pod.
JOB_NAME = "job-name"


def table(page, heads):
    """Returns the cells of the rows of the page's table with these headings, without
    back quotes."""
    lines = iter(page.splitlines())
    for line in lines:
        if cells(line) == heads:
            next(lines)
            break
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.replace("`", "") for cell in cells(line)])
    return found


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def pod_of(found):
    return found.one("DaemonSet")["spec"]["template"]["spec"]


def containers(pod):
    return [*pod.get("initContainers", []), *pod["containers"]]


def template_labels(found):
    return found.one("DaemonSet")["spec"]["template"]["metadata"]["labels"]


def volume(pod, name):
    one, = [one for one in pod["volumes"] if one["name"] == name]
    return one


def host_mounts(pod):
    """Returns directory of the node, path in the container, and access, for each mount of
    the node's directories."""
    return [[volume(pod, mount["name"])["hostPath"]["path"], mount["mountPath"],
             "read" if mount.get("readOnly") else "read, write"]
            for one in containers(pod) for mount in one["volumeMounts"]
            if "hostPath" in volume(pod, mount["name"])]


def selectors_match(found, _):
    """Selectors choose the agents' pods."""
    labels = template_labels(found).items()
    for _, one in found.base:
        spec = one.get("spec", {})
        selector = spec.get("selector", spec.get("podSelector"))
        if selector is not None:
            wanted = selector.get("matchLabels", selector)
            if not wanted or not wanted.items() <= labels:
                yield f"{one['kind']}: the selector {wanted} does not choose the agents"
    for rule in found.one("NetworkPolicy")["spec"]["ingress"]:
        for peer in rule["from"]:
            if not peer["podSelector"]["matchLabels"].items() <= labels:
                yield f"NetworkPolicy: {peer} does not choose the agents"


def volumes_are_mounted(found, _):
    """Each volume is mounted, each mount has its volume, and no path is there twice."""
    pod = pod_of(found)
    names = [one["name"] for one in pod["volumes"]]
    mounted = [mount["name"] for one in containers(pod) for mount in one["volumeMounts"]]
    for name in names:
        if names.count(name) > 1:
            yield f"there are two volumes {name}"
        if name not in mounted:
            yield f"the volume {name} is not mounted"
    yield from (f"there is no volume {name}" for name in mounted if name not in names)
    for one in containers(pod):
        paths = [mount["mountPath"] for mount in one["volumeMounts"]]
        yield from (f"two volumes are mounted at {path}" for path in set(paths)
                    if paths.count(path) > 1)


def node_directories_are_documented(found, page):
    """The mounts of the node's directories are those of the page."""
    documented = table(page, ["directory of the node", "in the agent's pod", "access"])
    used = host_mounts(pod_of(found))
    yield from (f"docs/kubernetes.md lacks the mount {one}" for one in used
                if one not in documented)
    yield from (f"docs/kubernetes.md has {one}, which is not mounted"
                for one in documented if one not in used)


def rights_are_documented(found, page):
    """The rights at the API server are those of the page."""
    documented = [[group, resource, *verbs.split(", ")] for group, resource, verbs in
                  table(page, ["API group", "resource", "verbs"])]
    used = [[group or "core", resource, *rule["verbs"]]
            for rule in found.one("ClusterRole")["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"]]
    if sorted(used) != sorted(documented):
        yield f"the rights are {used}, and docs/kubernetes.md has {documented}"


def binding_names_exist(found, _):
    """The role is bound to the account that the agents use."""
    account = found.one("ServiceAccount")["metadata"]
    binding = found.one("ClusterRoleBinding")
    if binding["roleRef"]["name"] != found.one("ClusterRole")["metadata"]["name"]:
        yield "the binding names no role"
    for subject in binding["subjects"]:
        if [subject["name"], subject["namespace"]] != [account["name"],
                                                       account["namespace"]]:
            yield f"the binding names the account {subject['name']}"
    if pod_of(found)["serviceAccountName"] != account["name"]:
        yield "the agents use another account"
    if pod_of(found)["priorityClassName"] != (
            found.one("PriorityClass")["metadata"]["name"]):
        yield "there is no such PriorityClass"


def containers_have_no_privileges(found, _):
    """The agents' pods have no capability, no namespace of the host, and a root file
    system that they cannot change."""
    pod = pod_of(found)
    yield from (f"{name} is true" for name in ("hostPID", "hostNetwork", "hostIPC")
                if pod.get(name))
    for one in containers(pod):
        context = one["securityContext"]
        if context.get("capabilities") != {"drop": ["ALL"]}:
            yield f"{one['name']} has capabilities"
        if context.get("privileged") or context["allowPrivilegeEscalation"]:
            yield f"{one['name']} may get privileges"
        if not context["readOnlyRootFilesystem"]:
            yield f"{one['name']} can change its root file system"
        if context["seccompProfile"]["type"] != "RuntimeDefault":
            yield f"{one['name']} has no profile of seccomp"


def ports_agree(found, _):
    """The ports have one name each, and are those of the cluster's file."""
    ports = [(one["name"], one["containerPort"])
             for container in pod_of(found)["containers"] for one in container["ports"]]
    port = found.cluster.get("port", DEFAULT_PORT)
    wanted = {"overlay": port, "control": found.cluster.get("control-port", port + 1)}
    if sorted(ports) != sorted(wanted.items()):
        yield f"the agent's ports are {ports}, not {wanted}"
    service = found.one("Service")["spec"]["ports"]
    for one in service:
        if [one["name"], one["port"]] != [one["targetPort"],
                                          wanted.get(one["targetPort"])]:
            yield f"the Service has the port {one}"
    for rule in found.one("NetworkPolicy")["spec"]["ingress"]:
        if {one["port"] for one in rule["ports"]} != set(wanted):
            yield "the NetworkPolicy has other ports than the agent"


def names_of_configuration_exist(found, page):
    """Each ConfigMap and Secret of a volume exists: it is generated, or the page has the
    command that makes it."""
    maps = {*found.config_maps(), ROOT_CA}
    for one in pod_of(found)["volumes"]:
        for source in one.get("projected", {}).get("sources", []):
            name = source.get("configMap", {}).get("name")
            if name and name not in maps:
                yield f"there is no ConfigMap {name}"
            secret = source.get("secret", {}).get("name")
            if secret and f"create secret generic {secret}" not in page:
                yield f"docs/kubernetes.md does not make the Secret {secret}"


def argument_after(container, option):
    args = container["args"]
    return args[args.index(option) + 1]


def mount_of(container, name):
    one, = [one for one in container["volumeMounts"] if one["name"] == name]
    return one["mountPath"]


def configuration_is_where_agents_read(found, page):
    """The agent reads the file and the key that are mounted, and nobody else may read the
    key."""
    pod = pod_of(found)
    agent, = pod["containers"]
    directory, name = os.path.split(argument_after(agent, "--cluster"))
    config = volume(pod, "config")["projected"]
    if directory != mount_of(agent, "config"):
        yield f"{directory} is not mounted"
    generated = {key for source in config["sources"] if "configMap" in source
                 for key in found.config_maps().get(source["configMap"]["name"], ())}
    if name not in generated:
        yield f"no ConfigMap has {name}"
    if f"--from-file={found.cluster['key-file']}" not in page:
        yield "docs/kubernetes.md makes no Secret with the key-file"
    if config["defaultMode"] & 0o077:
        yield "others can read the key"


def paths_of_the_cluster_file_are_mounted(found, _):
    """The paths of cluster.toml are those of the mounts."""
    pod = pod_of(found)
    agent, = pod["containers"]
    mounts = {path: directory for directory, path, _ in host_mounts(pod)}
    settings = found.cluster["kubernetes"]
    if mounts.get(settings["host-proc"]) != "/proc":
        yield "host-proc is not the node's /proc"
    # Kubelet and the pods of jobs know these by the paths of the node.
    for key in ("device-plugins", "host-run"):
        if mounts.get(settings[key]) != settings[key]:
            yield f"{key} is not mounted at the path that it has on the node"
    install = pod["initContainers"][0]
    if [mounts.get(path) for path in install["args"]] != [settings["host-files"]]:
        yield "the files are not installed in host-files"
    if "emptyDir" not in volume(pod, "agent") or not (
            found.cluster["directory"].startswith(mount_of(agent, "agent") + "/")):
        yield "the agent's directory is not in a volume that ends with the pod"


def image_has_programs_and_directories(found, _):
    """The image has the programs of the pod, and a directory for each mount, because its
    root file system cannot be changed."""
    spec = importlib.util.spec_from_file_location("image_root", IMAGE_FILES)
    image = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(image)
    there = {*image.PROGRAMS, image.INSTALL_FILES, *image.MOUNTS}
    for one in containers(pod_of(found)):
        paths = [one["command"][0], *(mount["mountPath"] for mount in one["volumeMounts"])]
        yield from (f"the image has no {path}" for path in paths
                    if path.lstrip("/") not in there)


def members_are_the_agents(found, _):
    """Agents find each other by the Service, also before they are ready."""
    service = found.one("Service")
    if found.cluster["nodes-from"] != f"dns:{service['metadata']['name']}":
        yield "nodes-from is not the name of the Service"
    if service["spec"]["clusterIP"] != "None":
        yield "the Service has one address for all agents"
    if not service["spec"].get("publishNotReadyAddresses"):
        yield "an agent that starts is not found"


def names_are_unique(found, _):
    """No object is there twice, and all are in the kustomization's namespace."""
    names = [(one["kind"], one["metadata"]["name"]) for _, one in found.base]
    yield from (f"there are two objects {name}" for name in set(names)
                if names.count(name) > 1)
    namespace = found.kustomization["namespace"]
    for _, one in found.base:
        if one["kind"] == "Namespace":
            at = one["metadata"]["name"]
        elif one["kind"] in NO_NAMESPACE:
            continue
        else:
            at = one["metadata"].get("namespace")
        if at != namespace:
            yield f"{one['kind']} is in the namespace {at}, not {namespace}"


def image_is_known(found, _):
    """The kustomization gives the image of each container its name, and the version of
    the sources."""
    known = {one["name"]: one for one in found.kustomization["images"]}
    yield from (f"the image {one['image']} is not in the kustomization"
                for one in containers(pod_of(found)) if one["image"] not in known)
    with open(VERSION, encoding="utf-8") as header:
        version = re.search(r'kVersion\[\] = "(.*)";', header.read())[1]
    yield from (f"the image {name} has the version {one['newTag']}, not {version}"
                for name, one in known.items() if one["newTag"] != version)


def jobs(found):
    return [(file, one) for file, objects in found.examples.items()
            for one in objects if one["kind"] == "Job"]


def resource_is_the_same(found, page):
    """Examples and the page request the resource that agents offer."""
    resource = found.cluster["kubernetes"]["resource"]
    for file, one in jobs(found):
        for container in one["spec"]["template"]["spec"]["containers"]:
            if resource not in container["resources"]["limits"]:
                yield f"{file}: {container['name']} has no {resource}"
    for name in re.findall(r"[\w.-]+\.dev/ranks?\b", str(found.examples) + page):
        if name not in (resource, f"requests.{resource}"):
            yield f"'{name}' is not the resource {resource}"


def jobs_can_start(found, _):
    """A job of an example has all pods at once, on different nodes, and its pods have the
    numbers and names that they use."""
    for file, one in jobs(found):
        spec, name = one["spec"], one["metadata"]["name"]
        pod = spec["template"]["spec"]
        if spec["completionMode"] != "Indexed" or (
                spec["parallelism"] != spec["completions"]):
            yield f"{file}: not all ranks run at once"
        if pod["restartPolicy"] != "Never":
            yield f"{file}: a pod that has ended is started again"
        apart, = pod["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"]
        if apart["labelSelector"] != {"matchLabels": {JOB_NAME: name}}:
            yield f"{file}: a node may get two pods of the job"
        if "volumes" in pod:
            yield f"{file}: the pod needs volumes"
        yield from torch_problems(file, one, found)


def torch_problems(file, job, found):
    """Yields what is wrong with the numbers and names of a job of torch."""
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    container, = pod["containers"]
    given = {one["name"]: one["value"] for one in container.get("env", [])}
    ranks = container["resources"]["limits"][found.cluster["kubernetes"]["resource"]]
    if not given:
        return
    if int(given["WORLD_SIZE"]) != spec["completions"] * int(ranks):
        yield f"{file}: WORLD_SIZE is not the number of ranks"
    service, = [one for one in found.examples[file] if one["kind"] == "Service"]
    if given["MASTER_ADDR"] != f"{job['metadata']['name']}-0.{pod['subdomain']}" or (
            pod["subdomain"] != service["metadata"]["name"]):
        yield f"{file}: MASTER_ADDR is not the name of pod 0"
    if service["spec"]["selector"] != {JOB_NAME: job["metadata"]["name"]}:
        yield f"{file}: the Service does not choose the pods"
    if int(given["MASTER_PORT"]) != service["spec"]["ports"][0]["port"]:
        yield f"{file}: the Service has another port"


def restricted_jobs_are_admitted(found, _):
    """A job whose comment mentions the level "restricted" has what the Pod Security
    Standards require for this level."""
    for file, one in jobs(found):
        if '"restricted"' not in found.notes[file]:
            continue
        pod = one["spec"]["template"]["spec"]
        shared = pod.get("securityContext", {})
        for container in containers(pod):
            own = {**shared, **container.get("securityContext", {})}
            if not own.get("runAsNonRoot") or own.get("runAsUser") == 0:
                yield f"{file}: {container['name']} may run as root"
            if own.get("seccompProfile", {}).get("type") != "RuntimeDefault":
                yield f"{file}: {container['name']} has no profile of seccomp"
            if own.get("allowPrivilegeEscalation", True):
                yield f"{file}: {container['name']} may get privileges"
            if own.get("capabilities") != {"drop": ["ALL"]}:
                yield f"{file}: {container['name']} has capabilities"


def examples_are_documented(found, page):
    """The page names each example."""
    yield from (f"docs/kubernetes.md does not name {file}" for file in found.examples
                if file not in page)


RULES = [selectors_match, volumes_are_mounted, node_directories_are_documented,
         rights_are_documented, binding_names_exist, containers_have_no_privileges,
         ports_agree, names_of_configuration_exist, configuration_is_where_agents_read,
         paths_of_the_cluster_file_are_mounted, image_has_programs_and_directories,
         members_are_the_agents, names_are_unique, image_is_known,
         resource_is_the_same, jobs_can_start, restricted_jobs_are_admitted,
         examples_are_documented]
