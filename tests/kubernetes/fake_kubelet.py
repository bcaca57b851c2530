"""The device manager of a kubelet, for one node: device plugins register with it,
and it allocates their devices to containers."""
import contextlib
import dataclasses
import os
import re
import stat
import threading
import urllib.parse
from concurrent import futures

import grpc

from device_plugin_stubs import pb, rpc

VERSION = "v1beta1"
HEALTHY = "Healthy"
EXTENDED = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/"
                      r"[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$")


class Rejected(Exception):
    """A container does not get its devices; the message is the kubelet's."""


@dataclasses.dataclass
class Allocation:
    """What one container has got. MOUNTS are (host path, container path, whether
    the mount is read-only)."""
    resource: str
    devices: list
    environment: dict
    mounts: list
    annotations: dict


class Plugin:
    """The connection to one registered plugin."""

    def __init__(self, path, resource, options, changed, old_authority):
        self.resource, self.options = resource, options
        self.changed = changed
        self.devices = {}  # health by id
        self.connected = True
        self.updates = 0  # lists that have arrived
        # Old kubelets send the path as it is, new ones escape it.
        authority = path if old_authority else urllib.parse.quote(path, safe="")
        self.channel = grpc.insecure_channel(
            f"unix:{path}", options=[("grpc.default_authority", authority)])
        self.stub = rpc.DevicePluginStub(self.channel)
        self.call = self.stub.ListAndWatch(pb.Empty(), wait_for_ready=True)
        self.problem = None
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self):
        try:
            for response in self.call:
                with self.changed:
                    self.devices = {one.ID: one.health for one in response.devices}
                    self.updates += 1
                    self.changed.notify_all()
        except grpc.RpcError as error:
            self.problem = error
        with self.changed:
            self.connected = False
            self.changed.notify_all()

    def healthy(self):
        return sorted(one for one, health in self.devices.items()
                      if health == HEALTHY) if self.connected else []

    def stop(self):
        self.call.cancel()
        self.thread.join()
        self.channel.close()


class Kubelet(rpc.RegistrationServicer):
    """Listens on kubelet.sock in DIRECTORY from start() on. OLD_AUTHORITY: it sends
    the header :authority as kubelets of Kubernetes 1.20 do."""

    def __init__(self, directory, old_authority=False):
        self.directory, self.old_authority = directory, old_authority
        self.changed = threading.Condition()
        self.plugins = {}  # by resource
        self.used = {}  # ids in use, by resource
        self.registrations = []  # (resource, endpoint), also of refused ones
        self.server = None
        os.makedirs(directory, exist_ok=True)

    @property
    def socket(self):
        return os.path.join(self.directory, "kubelet.sock")

    def start(self):
        """Removes all sockets in the directory before it listens, as kubelets do.
        """
        for name in os.listdir(self.directory):
            path = os.path.join(self.directory, name)
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                os.unlink(path)
        self.server = grpc.server(futures.ThreadPoolExecutor(2))
        rpc.add_RegistrationServicer_to_server(self, self.server)
        self.server.add_insecure_port(f"unix:{self.socket}")
        self.server.start()

    def stop(self):
        """Ends the kubelet. Containers and their devices stay."""
        if not self.server:
            return
        self.server.stop(None).wait()
        self.server = None
        with self.changed:
            plugins, self.plugins = list(self.plugins.values()), {}
        for plugin in plugins:
            plugin.stop()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)

    def restart(self):
        self.stop()
        self.start()

    def Register(self, request, context):  # noqa: N802
        with self.changed:
            self.registrations.append((request.resource_name, request.endpoint))
        if request.version != VERSION:
            context.abort(grpc.StatusCode.UNKNOWN, f'requested API version '
                          f'"{request.version}" is not supported by kubelet')
        if not EXTENDED.match(request.resource_name):
            context.abort(grpc.StatusCode.UNKNOWN, "the ResourceName "
                          f'"{request.resource_name}" is invalid')
        if os.path.basename(request.endpoint) != request.endpoint:
            context.abort(grpc.StatusCode.UNKNOWN, "the endpoint is no file name")
        plugin = Plugin(os.path.join(self.directory, request.endpoint),
                        request.resource_name, request.options, self.changed,
                        self.old_authority)
        with self.changed:
            old = self.plugins.pop(request.resource_name, None)
            self.plugins[request.resource_name] = plugin
            self.changed.notify_all()
        if old:
            old.stop()
        return pb.Empty()

    # Devices.

    def capacity(self, resource):
        """Returns the number of healthy devices, as the node's object shows it."""
        with self.changed:
            plugin = self.plugins.get(resource)
            return len(plugin.healthy()) if plugin else 0

    def free(self, resource):
        """Returns the ids of the healthy devices that no container has."""
        with self.changed:
            plugin = self.plugins.get(resource)
            used = self.used.get(resource, set())
            return [one for one in plugin.healthy() if one not in used] \
                if plugin else []

    def wait_for(self, resource, count=1, seconds=30):
        """Waits until COUNT devices are free; returns whether they are."""
        with self.changed:
            return self.changed.wait_for(
                lambda: len(self.free(resource)) >= count, seconds)

    def allocate(self, resource, count, seconds=10):
        """Allocates COUNT devices to a container. Raises Rejected."""
        with self.changed:
            plugin = self.plugins.get(resource)
            found = self.free(resource)
            if len(found) < count:
                raise Rejected(f"requested number of devices unavailable for "
                               f"{resource}. Requested: {count}, Available: "
                               f"{len(found)}")
            ids = self._chosen(plugin, found, count, seconds)
            self.used.setdefault(resource, set()).update(ids)
        try:
            return self._allocated(plugin, ids, seconds)
        except grpc.RpcError as error:
            self.release(Allocation(resource, ids, {}, [], {}))
            raise Rejected("Allocate failed due to rpc error: code = "
                           f"{error.code().name} desc = {error.details()}") from None

    def _chosen(self, plugin, found, count, seconds):
        """Returns the devices that the plugin prefers, if it has preferences."""
        if not plugin.options.get_preferred_allocation_available:
            return found[:count]
        one = pb.ContainerPreferredAllocationRequest(allocation_size=count)
        one.available_deviceIDs.extend(found)
        with contextlib.suppress(grpc.RpcError):
            answer = plugin.stub.GetPreferredAllocation(
                pb.PreferredAllocationRequest(container_requests=[one]),
                timeout=seconds)
            ids = list(answer.container_responses[0].deviceIDs)
            if len(set(ids)) == count and set(ids) <= set(found):
                return ids
        return found[:count]

    def _allocated(self, plugin, ids, seconds):
        request = pb.AllocateRequest()
        request.container_requests.add().devices_ids.extend(ids)
        answer = plugin.stub.Allocate(request, timeout=seconds)
        if len(answer.container_responses) != 1:
            raise Rejected("Allocate returned "
                           f"{len(answer.container_responses)} responses")
        if plugin.options.pre_start_required:
            plugin.stub.PreStartContainer(
                pb.PreStartContainerRequest(devices_ids=ids), timeout=seconds)
        one = answer.container_responses[0]
        mounts = [(mount.host_path, mount.container_path, mount.read_only)
                  for mount in one.mounts]
        return Allocation(plugin.resource, ids, dict(one.envs), mounts,
                          dict(one.annotations))

    def release(self, allocation):
        """Called when the container has ended."""
        with self.changed:
            self.used[allocation.resource] -= set(allocation.devices)
            self.changed.notify_all()
