#include "server/kubernetes/identity/cgroup_pod.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace canopy::kubernetes {
namespace {

const std::string kUid = "12345678-9abc-def0-1234-56789abcdef0";
const std::string kSliceUid = "12345678_9abc_def0_1234_56789abcdef0";
const std::string kVictim = "00000000-0000-0000-0000-000000000000";
const std::string kSliceVictim = "00000000_0000_0000_0000_000000000000";
const std::string kHash = "0123456789abcdef0123456789abcdef";
const std::string kId =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

// Returns "UID CONTAINER", or "none".
std::string PodOf(const std::string& text) {
  const std::optional<CgroupPod> pod = FindPod(text);
  return pod ? pod->pod_uid + " " + pod->container_id : "none";
}

std::string PodOfPathV2(const std::string& path) {
  return PodOf("0::" + path + "\n");
}

struct Spelling {
  std::string path;
  std::string uid = kUid;
  std::string container = kId;
};

class SpellingTest : public testing::TestWithParam<Spelling> {};

TEST_P(SpellingTest, NamesThePodAndItsContainer) {
  const Spelling& spelling = GetParam();
  EXPECT_EQ(PodOfPathV2(spelling.path), spelling.uid + " " + spelling.container)
      << spelling.path;
}

const std::string kBurstable = "kubepods-burstable-pod" + kSliceUid + ".slice";
const std::string kOfSystemd =
    "/kubepods.slice/kubepods-burstable.slice/" + kBurstable;

INSTANTIATE_TEST_SUITE_P(
    Systemd, SpellingTest,
    testing::Values(
        Spelling{kOfSystemd + "/cri-containerd-" + kId + ".scope"},
        Spelling{kOfSystemd + "/crio-" + kId + ".scope"},
        Spelling{kOfSystemd + "/crio-" + kId + ".scope/container"},
        Spelling{kOfSystemd + "/docker-" + kId + ".scope"},
        Spelling{kOfSystemd + "/crio-conmon-" + kId + ".scope", kUid, ""},
        Spelling{kOfSystemd, kUid, ""},
        Spelling{kOfSystemd + "/made-by-hand", kUid, ""},
        Spelling{"/kubepods.slice/kubepods-besteffort.slice/"
                 "kubepods-besteffort-pod" +
                 kSliceUid + ".slice/cri-containerd-" + kId + ".scope"},
        Spelling{"/kubepods.slice/kubepods-pod" + kSliceUid +
                 ".slice/cri-containerd-" + kId + ".scope"},
        Spelling{"/kubepods.slice/kubepods-pod" + kHash +
                     ".slice/cri-containerd-" + kId + ".scope",
                 kHash},
        Spelling{"/kubelet.slice/kubelet-kubepods.slice/"
                 "kubelet-kubepods-burstable.slice/"
                 "kubelet-" +
                 kBurstable + "/cri-containerd-" + kId + ".scope"},
        Spelling{"/../../" + kBurstable + "/cri-containerd-" + kId + ".scope"},
        Spelling{"/../../../kubepods-burstable.slice/" + kBurstable +
                 "/cri-containerd-" + kId + ".scope"},
        Spelling{"/../../kubepods-pod" + kSliceUid + ".slice/cri-containerd-" +
                 kId + ".scope"}));

INSTANTIATE_TEST_SUITE_P(
    Cgroupfs, SpellingTest,
    testing::Values(
        Spelling{"/kubepods/burstable/pod" + kUid + "/" + kId},
        Spelling{"/kubepods/besteffort/pod" + kUid + "/" + kId},
        Spelling{"/kubepods/pod" + kUid + "/" + kId},
        Spelling{"/kubepods/pod" + kHash + "/" + kId, kHash},
        Spelling{"/kubepods/pod" + kUid + "/crio-" + kId},
        Spelling{"/kubepods/pod" + kUid + "/crio-conmon-" + kId, kUid, ""},
        Spelling{"/kubepods/pod" + kUid, kUid, ""},
        Spelling{"/kubelet/kubepods/burstable/pod" + kUid + "/" + kId},
        Spelling{"/../../pod" + kUid + "/" + kId},
        Spelling{"/../../../burstable/pod" + kUid + "/" + kId},
        Spelling{"/../../../kubepods/burstable/pod" + kUid + "/" + kId}));

INSTANTIATE_TEST_SUITE_P(
    NestedGroupsOfTheProcess, SpellingTest,
    testing::Values(
        Spelling{kOfSystemd + "/cri-containerd-" + kId +
                 ".scope/kubepods.slice/kubepods-pod" + kSliceVictim +
                 ".slice/cri-containerd-" + std::string(64, 'a') + ".scope"},
        Spelling{"/kubepods/pod" + kUid + "/" + kId + "/kubepods/pod" +
                 kVictim + "/" + std::string(64, 'a')},
        Spelling{"/../../pod" + kUid + "/" + kId + "/pod" + kVictim},
        // In the group of the pod itself, which only root can change.
        Spelling{"/kubepods/pod" + kUid + "/kubepods/pod" + kVictim, kUid,
                 ""}));

class NoPodTest : public testing::TestWithParam<std::string> {};

TEST_P(NoPodTest, PathNamesNoPod) {
  EXPECT_EQ(PodOfPathV2(GetParam()), "none") << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    OutsideOfKubepods, NoPodTest,
    testing::Values(
        "", "/", "/..", "/../..", "/init.scope", "/kubepods",
        "/kubepods/burstable", "/kubepods.slice/kubepods-burstable.slice",
        "/pod" + kUid + "/" + kId, "/burstable/pod" + kUid,
        "/system.slice/pod" + kUid + "/" + kId,
        "/../../system.slice/pod" + kUid + "/" + kId,
        "/../../other/burstable/pod" + kUid,
        "/kubepods/other/pod" + kUid + "/" + kId,
        "/kubepods/burstable/burstable/pod" + kUid, "/mykubepods/pod" + kUid,
        "/kubepods2/pod" + kUid, "/mykubepods-pod" + kSliceUid + ".slice",
        "/mykubepods-burstable-pod" + kSliceUid + ".slice",
        "/kubepods-other-pod" + kSliceUid + ".slice",
        "/kubepods-pod" + kSliceUid, "/pod" + kSliceUid + ".slice"));

INSTANTIATE_TEST_SUITE_P(
    GroupsThatUsersMayMake, NoPodTest,
    testing::Values(
        "/user.slice/user-1000.slice/user@1000.service/kubepods.slice/"
        "kubepods-pod" +
            kSliceUid + ".slice/cri-containerd-" + kId + ".scope",
        "/../../user.slice/kubepods/pod" + kUid + "/" + kId,
        "/system.slice/batch.service/kubepods/pod" + kUid + "/" + kId,
        "/machine.slice/libpod-" + kId + ".scope/kubepods/pod" + kUid,
        "/docker/" + kId + "/kubepods/pod" + kUid + "/" + kId));

INSTANTIATE_TEST_SUITE_P(
    WrongUids, NoPodTest,
    testing::Values("/kubepods/pod", "/kubepods/pod/" + kId,
                    "/kubepods/pod" + kUid + "0",
                    "/kubepods/pod" + kUid.substr(1),
                    "/kubepods/pod" + kUid.substr(0, 35) + "g",
                    "/kubepods/pod" + kUid + " (deleted)",
                    "/kubepods/pod" + kSliceUid,
                    "/kubepods/pod123456789-abc-def0-1234-56789abcdef0",
                    "/kubepods/pod" + kHash + "0", "/kubepods/pod../" + kId,
                    "/kubepods/POD" + kUid,
                    "/kubepods/pod12345678-9ABC-DEF0-1234-56789ABCDEF0",
                    "/kubepods.slice/kubepods-pod" + kUid + ".slice"));

INSTANTIATE_TEST_SUITE_P(UpwardsAfterTheBeginning, NoPodTest,
                         testing::Values("/kubepods/../kubepods/pod" + kUid,
                                         "/a/../../kubepods-pod" + kSliceUid +
                                             ".slice",
                                         "/kubepods/burstable/../pod" + kUid));

TEST(CgroupPodTest, ContainerWithAnUnknownNameHasNoId) {
  const std::string pod = "/kubepods/pod" + kUid + "/";
  EXPECT_EQ(PodOfPathV2(pod + kId.substr(1)), kUid + " ");
  EXPECT_EQ(PodOfPathV2(pod + "runtime-" + kId), kUid + " ");
  EXPECT_EQ(PodOfPathV2(pod + kId + " (deleted)"), kUid + " ");
  EXPECT_EQ(PodOfPathV2(pod + "../" + kId), kUid + " ");
}

TEST(CgroupPodTest, HierarchiesThatNameTheSamePodAgree) {
  const std::string path = ":/kubepods/burstable/pod" + kUid + "/" + kId + "\n";
  EXPECT_EQ(PodOf("12:cpu,cpuacct" + path + "11:name=systemd" + path +
                  "10:misc:/\n9:rdma:/\n0::/system.slice/containerd.service\n"),
            kUid + " " + kId);
}

TEST(CgroupPodTest, LastLineNeedsNoLineBreak) {
  EXPECT_EQ(PodOf("0::/kubepods/pod" + kUid + "/" + kId), kUid + " " + kId);
}

TEST(CgroupPodTest, HierarchiesThatNameDifferentPodsNameNone) {
  const std::string own = ":/kubepods/pod" + kUid + "/" + kId + "\n";
  const std::string other = ":/kubepods/pod" + kVictim + "/" + kId + "\n";
  EXPECT_EQ(PodOf("2:cpu" + own + "1:pids" + other), "none");
  EXPECT_EQ(PodOf("2:cpu" + own + "1:pids" + other + "0:" + own), "none");
}

TEST(CgroupPodTest, HierarchiesThatNameDifferentContainersNameNone) {
  const std::string pod = ":/kubepods/pod" + kUid + "/";
  EXPECT_EQ(PodOf("2:cpu" + pod + kId + "\n1:pids" + pod +
                  std::string(64, 'a') + "\n"),
            kUid + " ");
}

TEST(CgroupPodTest, ColonsOfTheGroupsStayInThePath) {
  const std::string nested = "/a:1:/kubepods/pod" + kVictim;
  EXPECT_EQ(PodOfPathV2("/kubepods/pod" + kUid + "/" + kId + nested),
            kUid + " " + kId);
  EXPECT_EQ(PodOfPathV2("/x.service" + nested), "none");
}

TEST(CgroupPodTest, MalformedLinesNameNoPod) {
  const std::string path = "/kubepods/pod" + kUid + "/" + kId;
  EXPECT_EQ(PodOf(""), "none");
  EXPECT_EQ(PodOf("\n\n"), "none");
  EXPECT_EQ(PodOf(path), "none");
  EXPECT_EQ(PodOf("0:" + path), "none");
}

TEST(CgroupPodTest, TextBeyondTheLimitNamesNoPod) {
  std::string text = "0::/kubepods/pod" + kUid + "/" + kId + "\n";
  text.append(kMaxCgroupFile - text.size(), '\n');
  EXPECT_EQ(PodOf(text), kUid + " " + kId);
  EXPECT_EQ(PodOf(text + "\n"), "none");
}

}  // namespace
}  // namespace canopy::kubernetes
