#include "server/kubernetes/gateway/pod_arrival.h"

#include <gtest/gtest.h>

namespace canopy::kubernetes {
namespace {

Pod PodOfJob() {
  Pod pod;
  pod.nspace = "physics";
  pod.name = "solver-2-xyz";
  pod.uid = "p2";
  pod.owner = {"Job", "solver", "u1", "batch/v1"};
  pod.labels["batch.kubernetes.io/job-completion-index"] = "2";
  Container container;
  container.name = "ranks";
  container.ranks = 8;
  container.container_id = "c1";
  pod.containers.push_back(container);
  return pod;
}

TEST(PodArrival, HasTheFactsOfThePodsObject) {
  const Result<Arrival> arrival = ArrivalOf(PodOfJob(), "c1");
  ASSERT_TRUE(arrival.ok()) << arrival.status().message();
  EXPECT_EQ(arrival->nspace, "physics");
  EXPECT_EQ(arrival->job, "solver");
  EXPECT_EQ(arrival->job_uid, "u1");
  EXPECT_EQ(arrival->index, 2u);
  EXPECT_EQ(arrival->ranks, 8u);
  EXPECT_EQ(arrival->pod_uid, "p2");
}

TEST(PodArrival, TakesTheOnlyContainerWithRanksWhenTheIdIsNotReportedYet) {
  Pod pod = PodOfJob();
  pod.containers[0].container_id.clear();
  pod.containers.emplace_back();
  EXPECT_TRUE(ArrivalOf(pod, "c9").ok());
}

TEST(PodArrival, RefusesToChooseBetweenContainers) {
  Pod pod = PodOfJob();
  pod.containers.push_back(pod.containers[0]);
  pod.containers[1].container_id = "c2";
  pod.containers[1].ranks = 4;
  EXPECT_EQ(ArrivalOf(pod, "c9").code(), kErrNotSupported);
  const Result<Arrival> second = ArrivalOf(pod, "c2");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->ranks, 4u);
}

TEST(PodArrival, RefusesAContainerWithoutRanks) {
  Pod pod = PodOfJob();
  Container sidecar;
  sidecar.container_id = "c2";
  pod.containers.push_back(sidecar);
  EXPECT_EQ(ArrivalOf(pod, "c2").code(), kErrNoPermissions);
  pod.containers[0].ranks = 0;
  EXPECT_EQ(ArrivalOf(pod, "").code(), kErrNoPermissions);
}

TEST(PodArrival, RefusesPodsThatBelongToNoIndexedJob) {
  Pod pod = PodOfJob();
  pod.labels.clear();
  EXPECT_EQ(ArrivalOf(pod, "c1").code(), kErrNotSupported);
  pod = PodOfJob();
  pod.owner = {"ReplicaSet", "web", "u3", "apps/v1"};
  EXPECT_EQ(ArrivalOf(pod, "c1").code(), kErrNotSupported);
}

}  // namespace
}  // namespace canopy::kubernetes
