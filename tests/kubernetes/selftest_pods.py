"""Jobs and pods of the test bed, with a stand-in of a device plugin."""
import contextlib
import json
import os
import time

import pods
from device_plugin_stub import DevicePlugin


def check(condition, what):
    if not condition:
        raise AssertionError(what)


@contextlib.contextmanager
def cluster(directory, nodes=2, devices=2):
    shared = os.path.join(directory, "shared")
    os.mkdir(shared)
    with open(os.path.join(shared, "greeting"), "w", encoding="ascii") as file:
        file.write("welcome\n")
    with pods.Cluster(directory, nodes) as made, contextlib.ExitStack() as stack:
        for node in made.nodes:
            plugin = DevicePlugin(node.device_plugins, pods.RANKS, devices, shared)
            stack.callback(plugin.close)
        check(made.wait_for_devices(devices) == [], "the devices")
        yield made


def job(directory):
    with cluster(directory) as made:
        one = made.apply_job("pi", completions=2, ranks=1, command=[
            "sh", "-c", "cat /proc/self/cgroup /run/canopy/greeting; hostname; "
            "echo ranks $CANOPY_RANKS pid $$; touch /run/canopy/x || echo cannot"])
        check(one.wait() == [0, 0], f"{one.wait()} {one.logs()}")
        for i, each in enumerate(one.pods):
            text = each.log()
            for wanted in (f"/kubepods/burstable/pod{each.uid}/", "welcome",
                           f"pi-{i}-", "ranks 1 pid 1\n", "cannot"):
                check(wanted in text, f"{wanted}: {text}")
            found = each.object()
            check(found["status"]["phase"] == "Succeeded", found)
            check(found["spec"]["nodeName"] == f"n{i + 1}", found)
            labels = found["metadata"]["labels"]
            check(labels["batch.kubernetes.io/job-completion-index"] == str(i), labels)
            check(found["metadata"]["ownerReferences"][0]["uid"] == one.uid, found)
        made.publish("canopyd", "canopy-system", made.nodes, 7117)
        found = made.api.get("endpointslices", "canopy-system", "canopyd-slice")
        check([each["nodeName"] for each in found["endpoints"]] == ["n1", "n2"], found)
        status = made.api.get("jobs", "default", "pi")["status"]
        check(status["conditions"][0]["type"] == "Complete", status)


def network(directory):
    """Pods reach each other, and see neither processes nor files of others."""
    with cluster(directory) as made:
        server = made.run_pod("server", ["python3", "-u", "-c", (
            "import socket; s = socket.create_server(('', 7000)); print('up'); "
            "c, a = s.accept(); print(a[0]); c.sendall(b'hello')")])
        check(server.started.wait(20) and server.container.until("up"), server.log())
        client = made.run_pod("client", ["python3", "-c", (
            "import os, socket, sys; print(socket.create_connection((sys.argv[1], "
            "7000)).recv(9), os.listdir('/tmp'), os.listdir('/dev/shm'), "
            "[n for n in os.listdir('/proc') if n.isdigit()])"),
            server.container.address])
        check((server.wait(), client.wait()) == (0, 0), server.log() + client.log())
        check(client.container.address in server.log(), server.log())
        check(client.log() == "b'hello' [] [] ['1']\n", client.log())


def rights(directory):
    """What containers may do, as the node's agent and as other users."""
    probe = ("import os, sys\n"
             "for path in sys.argv[1:]:\n"
             "    try: open(path + '/x', 'w').close(); print('wrote', path)\n"
             "    except OSError as error: print(error.strerror, path)\n"
             "print('sees groups:', 'kubepods' in open('/proc/self/cgroup').read())\n"
             "print([l.split()[1] for l in open('/proc/self/status')"
             " if l.startswith(('CapEff', 'Uid'))], os.path.exists('/host/proc/1'), "
             "os.path.exists('/run/deep/er/1'))")
    paths = ("/etc", "/sys/fs/cgroup/pids", "/run/canopy", "/tmp")
    with cluster(directory) as made:
        for more, wanted in (
                ({"user": 65534},
                 ["Permission denied /etc", "wrote /tmp", "sees groups: True",
                  "['65534', '0000000000000000'] True True"]),
                ({"read_only": True, "capabilities": (), "cgroup_namespace": True},
                 ["Read-only file system /etc", "wrote /run/canopy", "wrote /tmp",
                  "sees groups: False", "['0', '0000000000000000'] True True"])):
            one = made.run_pod("probe", ["python3", "-c", probe, *paths], ranks=0,
                               more=more, volumes=(
                                   ("/proc", "/host/proc", True),
                                   ("/proc", "/var/run/deep/er", True),
                                   (made.nodes[0].run, "/run/canopy", False)))
            check(one.wait() == 0, one.log())
            for line in wanted:
                check(line in one.log(), f"{line}: {one.log()}")
            check("wrote /sys" not in one.log() and "wrote /etc" not in one.log(),
                  one.log())
            one.delete()
            check(one.gone.wait(20), "the object remains")


def ends(directory):
    with cluster(directory) as made:
        one = made.apply_job("bad", completions=2, command=[
            "sh", "-c", "trap 'exit 9' TERM; [ $(hostname | cut -d- -f2) = 0 ] && "
            "exit 5; while :; do sleep 0.05; done"])
        check(one.wait() == [5, 9], one.wait())
        status = made.api.get("jobs", "default", "bad")["status"]
        check(status["conditions"][0]["type"] == "Failed", status)
        state = one.pods[0].object()["status"]["containerStatuses"][0]["state"]
        check(state["terminated"]["reason"] == "Error", state)
        big = made.run_pod("big", ["python3", "-c", "bytearray(200 << 20)"],
                           memory=40 << 20)
        code = big.wait()
        state = big.object()["status"]["containerStatuses"][0]["state"]
        if big.container.cgroup.limited:
            check((code, state["terminated"]["reason"]) == (137, "OOMKilled"), state)
        gone = made.run_pod("gone", ["sleep", "1000"])
        check(gone.started.wait(20), "it does not start")
        inside = gone.container.enter("cat", "/proc/sys/kernel/hostname",
                                      "/proc/self/cgroup").stdout
        check(inside.startswith("gone\n") and "kubepods" not in inside, inside)
        gone.delete(grace=0, reason=pods.EVICTION)
        check(gone.wait() == 137, gone.exit_code)
        none = made.run_pod("none", ["no-such-program"])
        check(none.wait() == 128, none.exit_code)


def held(directory):
    with cluster(directory) as made:
        one = made.apply_job("late", completions=3, command=["true"], hold={
            1: pods.UNSCHEDULABLE, 2: pods.IMAGE_PULL})
        check(one.pods[0].wait() == 0, one.pods[0].log())

        def shown(index):
            status = one.pods[index].object()["status"]
            return status["phase"] == "Pending" and json.dumps(status)
        deadline = time.monotonic() + 20
        while not ("Unschedulable" in shown(1) and "ImagePullBackOff" in shown(2)):
            check(time.monotonic() < deadline, shown(1) + shown(2))
            time.sleep(0.02)
        for index in (1, 2):
            one.release(index)
        check(one.wait() == [0, 0, 0], one.wait())
        more = [made.run_pod(f"full-{i}", ["sleep", "1000"], ranks=2)
                for i in range(3)]
        deadline = time.monotonic() + 20
        while sum(each.started.is_set() for each in more) < 2:
            check(time.monotonic() < deadline, "two of three pods run")
            time.sleep(0.02)
        waits, = (each for each in more if not each.started.is_set())
        first = next(each for each in more if each.started.is_set())
        first.delete(grace=0)
        check(waits.started.wait(20), "the freed devices are used")


def kubelet(directory):
    with pods.Cluster(directory) as made:
        node = made.nodes[0]
        for name in ("before", "after"):
            check(node.kubelet.free(pods.RANKS) == [], "nothing is registered")
            with contextlib.closing(DevicePlugin(node.device_plugins, pods.RANKS, 2,
                                                 "/tmp")):
                check(made.wait_for_devices(2) == [], "the registration")
                one = made.run_pod(name, ["true"], ranks=2)
                check(one.wait() == 0, one.log())
                node.kubelet.restart()
                check(not os.path.exists(node.device_plugins + "/stub.sock"),
                      "the plugin's socket")


CASES = {"a job of two pods": job, "the pods' network": network,
         "rights of containers": rights,
         "ends of pods": ends, "pods that wait": held,
         "a kubelet starts again": kubelet}
