#include "server/kubernetes/api/pod.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace canopy::kubernetes {
namespace {

constexpr char kRank[] = "canopy.dev/rank";

constexpr char kPod[] = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "solver-3-x7k2p", "namespace": "physics", "uid": "0a1b",
    "resourceVersion": "4711",
    "labels": {"batch.kubernetes.io/job-completion-index": "3", "app": "x",
               "odd": 1},
    "annotations": {"canopy.dev/start": "eager",
                    "batch.kubernetes.io/job-completion-index": "3",
                    "other.dev/large": "left out"},
    "ownerReferences": [
      {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "9"},
      {"apiVersion": "batch/v1", "kind": "Job", "name": "solver",
       "uid": "77aa", "controller": true}]},
  "spec": {
    "nodeName": "node7",
    "initContainers": [{"name": "setup", "image": "tools:1"}],
    "containers": [
      {"name": "rank", "image": "solver:2",
       "resources": {"limits": {"cpu": "8", "canopy.dev/rank": "8"}}},
      {"name": "log", "image": "log:3"}]},
  "status": {
    "phase": "Running", "hostIP": "10.0.0.7", "podIP": "10.1.0.9",
    "initContainerStatuses": [
      {"name": "setup", "state": {"terminated": {"exitCode": 0}}}],
    "containerStatuses": [
      {"name": "log", "containerID": "containerd://feed",
       "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
      {"name": "rank", "containerID": "cri-o://beef",
       "state": {"terminated": {"exitCode": 137, "signal": 9,
                                "reason": "OOMKilled", "message": "m"}}}]}
})";

Pod Parsed(const std::string& text) {
  const auto object = ParseJson(text);
  const auto pod = object ? ParsePod(*object, kRank) : std::nullopt;
  EXPECT_TRUE(pod) << text;
  return pod.value_or(Pod());
}

// Returns a pod with this specification and status.
Pod PodWith(const std::string& spec, const std::string& status) {
  return Parsed(R"({"metadata":{"name":"a","uid":"1"},"spec":)" + spec +
                ",\"status\":" + status + "}");
}

TEST(PodTest, ReadsTheMetadata) {
  const Pod pod = Parsed(kPod);
  EXPECT_EQ(pod.name, "solver-3-x7k2p");
  EXPECT_EQ(pod.nspace, "physics");
  EXPECT_EQ(pod.uid, "0a1b");
  EXPECT_EQ(pod.resource_version, "4711");
  EXPECT_FALSE(pod.deleting);
  EXPECT_EQ(pod.labels.size(), 2u);
  EXPECT_EQ(ValueOf(pod.labels, "app"), "x");
  EXPECT_EQ(ValueOf(pod.labels, "odd"), "");
  EXPECT_EQ(pod.annotations.size(), 2u);
  EXPECT_EQ(ValueOf(pod.annotations, "canopy.dev/start"), "eager");
  EXPECT_EQ(pod.owner.kind, "Job");
  EXPECT_EQ(pod.owner.name, "solver");
  EXPECT_EQ(pod.owner.uid, "77aa");
  EXPECT_EQ(pod.owner.api_version, "batch/v1");
}

TEST(PodTest, ReadsThePlaceAndTheContainers) {
  const Pod pod = Parsed(kPod);
  EXPECT_EQ(pod.node, "node7");
  EXPECT_EQ(pod.phase, "Running");
  EXPECT_EQ(pod.host_ip, "10.0.0.7");
  EXPECT_EQ(pod.pod_ip, "10.1.0.9");
  ASSERT_EQ(pod.containers.size(), 2u);
  const Container& rank = pod.containers[0];
  EXPECT_EQ(rank.name, "rank");
  EXPECT_EQ(rank.image, "solver:2");
  EXPECT_EQ(rank.ranks, 8u);
  EXPECT_EQ(rank.container_id, "beef");
  EXPECT_FALSE(rank.running);
  ASSERT_TRUE(rank.terminated);
  EXPECT_EQ(rank.terminated->exit_code, 137);
  EXPECT_EQ(rank.terminated->signal, 9);
  EXPECT_EQ(rank.terminated->reason, "OOMKilled");
  EXPECT_EQ(rank.terminated->message, "m");
  EXPECT_EQ(pod.containers[1].container_id, "feed");
  EXPECT_EQ(pod.containers[1].ranks, 0u);
  EXPECT_TRUE(pod.containers[1].running);
  EXPECT_FALSE(pod.containers[1].terminated);
  ASSERT_EQ(pod.init_containers.size(), 1u);
}

TEST(PodTest, ReadsRanksInTheNotationOfQuantities) {
  for (const auto& [text, ranks] :
       {std::pair<const char*, uint32_t>{"\"1k\"", 1000},
        {"16", 16},
        {"\"4294967296\"", 0},
        {"-1", 0},
        {"\"2500m\"", 0},
        {"null", 0}}) {
    const Pod pod =
        PodWith(R"({"containers":[{"resources":{"limits":{"canopy.dev/rank":)" +
                    std::string(text) + "}}}]}",
                "{}");
    ASSERT_EQ(pod.containers.size(), 1u);
    EXPECT_EQ(pod.containers[0].ranks, ranks) << text;
  }
}

TEST(PodTest, ReadsTheCompletionIndex) {
  EXPECT_EQ(CompletionIndex(Parsed(kPod)), 3u);
  Pod pod;
  EXPECT_EQ(CompletionIndex(pod), std::nullopt);
  pod.labels[std::string(kCompletionIndex)] = "5";
  EXPECT_EQ(CompletionIndex(pod), 5u);
  pod.annotations[std::string(kCompletionIndex)] = "6";
  EXPECT_EQ(CompletionIndex(pod), 6u);
  pod.annotations[std::string(kCompletionIndex)] = "six";
  EXPECT_EQ(CompletionIndex(pod), std::nullopt);
}

TEST(PodTest, ReadsADeletionAndItsReason) {
  const Pod pod = Parsed(
      R"({"metadata":{"name":"a","uid":"1",
                      "deletionTimestamp":"2026-01-01T00:00:00Z"},
          "status":{"phase":"Running","conditions":[
            {"type":"DisruptionTarget","status":"True",
             "reason":"EvictionByEvictionAPI","message":"drained"}]}})");
  EXPECT_TRUE(pod.deleting);
  EXPECT_EQ(pod.disruption.reason, "EvictionByEvictionAPI");
  EXPECT_EQ(pod.disruption.message, "drained");
  EXPECT_EQ(MissingText(pod), "Terminating (EvictionByEvictionAPI: drained)");
}

TEST(PodTest, RejectsObjectsWithoutNameOrUid) {
  for (const char* text :
       {"{}", "[]", "null", R"({"metadata":{"name":"a"}})",
        R"({"metadata":{"uid":"1"}})", R"({"metadata":{"name":1,"uid":"1"}})",
        R"({"metadata":[]})"}) {
    EXPECT_FALSE(ParsePod(ParseJson(text).value_or(Json()), kRank)) << text;
  }
}

TEST(PodTest, FieldsOfOtherTypesReadAsAbsent) {
  const Pod pod = Parsed(
      R"({"metadata":{"name":"a","uid":"1","labels":[],"annotations":"x",
                      "ownerReferences":{"controller":true},
                      "deletionTimestamp":5},
          "spec":{"nodeName":{},"containers":[1,{"name":[]},
                                              {"resources":[]}]},
          "status":{"phase":1,"conditions":[[],{"type":"PodScheduled"}],
                    "containerStatuses":[{"state":"x"},2]}})");
  EXPECT_EQ(pod.node, "");
  EXPECT_EQ(pod.containers.size(), 3u);
  EXPECT_TRUE(pod.labels.empty());
  EXPECT_TRUE(pod.owner.kind.empty());
  EXPECT_FALSE(pod.deleting);
  EXPECT_EQ(MissingText(pod), "Unknown");
}

TEST(PodTest, BoundsListsAndTexts) {
  Json object = {{"metadata", {{"name", "a"}, {"uid", "1"}}}};
  for (int i = 0; i < 1000; ++i) {
    const std::string name = std::to_string(i);
    object["metadata"]["labels"][name] = "x";
    object["metadata"]["annotations"]["canopy.dev/" + name] = "x";
    object["spec"]["containers"].push_back({{"name", name}});
  }
  object["metadata"]["labels"]["0"] = std::string(10'000, 'x');
  object["status"]["message"] = std::string(10'000, 'x');
  const auto pod = ParsePod(object, kRank);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->labels.size(), 256u);
  EXPECT_FALSE(pod->labels.contains("0"));
  EXPECT_EQ(pod->annotations.size(), 256u);
  EXPECT_EQ(pod->containers.size(), 256u);
  EXPECT_EQ(pod->state.message.size(), 1024u);
}

TEST(PodTest, ExplainsWhyAPodIsNotScheduled) {
  const Pod pod = PodWith("{}",
                          R"({"phase":"Pending","conditions":[
           {"type":"PodScheduled","status":"False","reason":"Unschedulable",
            "message":"0/2 nodes are available: 2 Insufficient memory"}]})");
  EXPECT_EQ(pod.scheduling.reason, "Unschedulable");
  EXPECT_EQ(MissingText(pod),
            "Pending (Unschedulable: 0/2 nodes are available: 2 Insufficient "
            "memory)");
}

TEST(PodTest, ExplainsWhichContainerDoesNotStart) {
  EXPECT_EQ(MissingText(PodWith(
                R"({"nodeName":"n","containers":[{"name":"a"},{"name":"b"}]})",
                R"({"phase":"Pending","containerStatuses":[
              {"name":"a","state":{"waiting":{"reason":"ContainerCreating"}}},
              {"name":"b","state":{"waiting":{"reason":"ImagePullBackOff",
                 "message":"Back-off pulling image"}}}]})")),
            "Pending (ImagePullBackOff: Back-off pulling image)");
  EXPECT_EQ(
      MissingText(PodWith(R"({"nodeName":"n","containers":[{"name":"a"}]})",
                          R"({"phase":"Pending","containerStatuses":[
              {"name":"a","state":{"waiting":{"reason":"ContainerCreating"}}}
             ]})")),
      "Pending (ContainerCreating)");
  EXPECT_EQ(MissingText(PodWith(
                R"({"nodeName":"n","containers":[{"name":"a"}],
              "initContainers":[{"name":"i"}]})",
                R"({"phase":"Pending","containerStatuses":[
              {"name":"a","state":{"waiting":{"reason":"PodInitializing"}}}],
              "initContainerStatuses":[
              {"name":"i","state":{"waiting":{"reason":"ErrImagePull"}}}]})")),
            "Pending (ErrImagePull)");
}

TEST(PodTest, ExplainsHowAPodHasEnded) {
  EXPECT_EQ(MissingText(PodWith(
                R"({"nodeName":"n","containers":[{"name":"a"},{"name":"b"}]})",
                R"({"phase":"Failed","containerStatuses":[
              {"name":"a","state":{"terminated":{"exitCode":0}}},
              {"name":"b","state":{"terminated":{"exitCode":137,
                                                 "reason":"OOMKilled"}}}]})")),
            "Failed (OOMKilled, exit code 137)");
  EXPECT_EQ(MissingText(PodWith("{}", R"({"phase":"Failed","reason":"Evicted",
                          "message":"The node was low on\nmemory"})")),
            "Failed (Evicted: The node was low on\\nmemory)");
  EXPECT_EQ(MissingText(PodWith("{}", R"({"phase":"Succeeded"})")),
            "Succeeded");
}

TEST(PodTest, ARunningPodIsNotMissing) {
  EXPECT_EQ(
      MissingText(PodWith(R"({"nodeName":"n"})", R"({"phase":"Running"})")),
      "Running");
}

}  // namespace
}  // namespace canopy::kubernetes
