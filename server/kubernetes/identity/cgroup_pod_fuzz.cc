// Fuzz target: the text of /proc/PID/cgroup, whose paths a process may choose
// in part. The same text is also taken as groups that a process makes within
// its container.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/kubernetes/identity/cgroup_pod.h"
#include "tests/fuzz/fuzz.h"

namespace {

using canopy::kubernetes::CgroupPod;
using canopy::kubernetes::FindPod;

constexpr char kUid[] = "12345678-9abc-def0-1234-56789abcdef0";
const std::string kId(64, 'a');

void Require(bool condition) {
  if (!condition) abort();
}

void CheckForm(std::string_view text) {
  const std::optional<CgroupPod> pod = FindPod(text);
  if (!pod) return;
  Require(pod->pod_uid.size() == 36 || pod->pod_uid.size() == 32);
  Require(pod->pod_uid.find_first_not_of("0123456789abcdef-") ==
          std::string::npos);
  Require(pod->container_id.empty() || pod->container_id.size() == 64);
}

// Nothing below a container changes what pod and container its processes have.
void CheckNested(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  const std::optional<CgroupPod> pod =
      FindPod("0::/kubepods/pod" + std::string(kUid) + "/" + kId + "/" + text);
  const bool too_long = text.size() + 128 > canopy::kubernetes::kMaxCgroupFile;
  Require(too_long ||
          (pod && pod->pod_uid == kUid && pod->container_id == kId));
}

}  // namespace

std::vector<std::string> canopy::fuzz::Seeds() {
  const std::string uid = kUid;
  return {
      "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
      "12345678_9abc_def0_1234_56789abcdef0.slice/cri-containerd-" +
          kId + ".scope\n",
      "2:cpu,cpuacct:/kubepods/besteffort/pod" + uid + "/" + kId +
          "\n1:name=systemd:/kubepods/besteffort/pod" + uid + "/" + kId +
          "\n0::/\n",
      "0::/../../pod" + uid + "/crio-" + kId + "\n",
      "0::/user.slice/user@1.service/kubepods/pod" + uid + "\n",
      "0::/kubepods/pod0123456789abcdef0123456789abcdef/docker-" + kId +
          ".scope/kubepods/pod" + uid + "\n",
  };
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckForm(text);
  CheckNested(std::string(text));
  return 0;
}
