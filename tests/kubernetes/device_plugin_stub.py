"""A device plugin for the self-test of the test bed; it stands in for an agent."""
import os
from concurrent import futures

import grpc

from device_plugin_stubs import pb, rpc


class DevicePlugin(rpc.DevicePluginServicer):
    """Serves in the directory of a kubelet, and offers COUNT devices. SHARED is the
    directory that containers get as /run/canopy."""

    def __init__(self, kubelet_directory, resource, count, shared):
        self.directory, self.resource = kubelet_directory, resource
        self.count, self.shared = count, shared
        self.watched = []
        self.server = grpc.server(futures.ThreadPoolExecutor(4))
        rpc.add_DevicePluginServicer_to_server(self, self.server)
        self.server.add_insecure_port(f"unix:{kubelet_directory}/stub.sock")
        self.server.start()
        self.register()

    def register(self):
        path = os.path.join(self.directory, "kubelet.sock")
        with grpc.insecure_channel(f"unix:{path}") as channel:
            rpc.RegistrationStub(channel).Register(pb.RegisterRequest(
                version="v1beta1", endpoint="stub.sock",
                resource_name=self.resource), timeout=10)

    def GetDevicePluginOptions(self, request, context):  # noqa: N802
        return pb.DevicePluginOptions()

    def ListAndWatch(self, request, context):  # noqa: N802
        yield pb.ListAndWatchResponse(devices=[
            pb.Device(ID=f"rank-{i}", health="Healthy")
            for i in range(self.count)])
        ended = futures.Future()
        context.add_callback(lambda: ended.set_result(None))
        ended.result()

    def Allocate(self, request, context):  # noqa: N802
        answer = pb.AllocateResponse()
        for one in request.container_requests:
            made = answer.container_responses.add(
                envs={"CANOPY_RANKS": str(len(one.devices_ids))})
            made.mounts.add(container_path="/run/canopy", host_path=self.shared,
                            read_only=True)
        return answer

    def close(self):
        self.server.stop(None).wait()
