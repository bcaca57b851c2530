// Determines the pod of a process from its control groups.
#ifndef CANOPY_SERVER_KUBERNETES_IDENTITY_CGROUP_POD_H_
#define CANOPY_SERVER_KUBERNETES_IDENTITY_CGROUP_POD_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::kubernetes {

struct CgroupPod {
  // The UID of the pod object, in lower case; for a static pod, the hash of its
  // configuration.
  std::string pod_uid;
  // The ID that the container runtime gave the container; empty if the process
  // is in no container's group, or if the hierarchies name different ones.
  std::string container_id;
};

// The maximum size of the text. The kernel names each hierarchy once, in at
// most 4 KiB, so no real text is longer.
inline constexpr size_t kMaxCgroupFile = 64 << 10;

// Returns the pod that the text of /proc/PID/cgroup names, or no value. The
// kubelet makes a group for each pod, below its group `kubepods`, and the
// runtime a group for each container, below that of its pod:
//
//   systemd   /kubepods.slice/kubepods-burstable.slice/
//             kubepods-burstable-podUID.slice/cri-containerd-ID.scope
//   cgroupfs  /kubepods/burstable/podUID/ID
//
// where "-" of a UID is "_" in the first form, and pods of the class Guaranteed
// have no group of a class. With --cgroup-root=/NAME, the groups are below NAME
// (systemd: NAME-kubepods.slice). A reader that is in a control group namespace
// sees the groups of other pods as /../../GROUP, without the groups that the
// pods share with it.
//
// A process may make groups within its own, and name them as it likes, so the
// outermost group of a pod counts. For the same reason, the pods are not
// searched for within `user.slice`, units (*.service, *.scope) and containers,
// whose groups may belong to their users. If the lines name different pods,
// there is no pod. Lines that name none are ignored, because runtimes leave
// processes in the root of hierarchies that they do not use.
std::optional<CgroupPod> FindPod(std::string_view cgroup_file);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_IDENTITY_CGROUP_POD_H_
