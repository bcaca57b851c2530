#include "server/kubernetes/gangs/missing_pods.h"

#include <gtest/gtest.h>

namespace canopy::kubernetes {
namespace {

Pod PodWith(uint32_t index, const std::string& phase) {
  Pod pod;
  pod.name = "a-" + std::to_string(index);
  pod.phase = phase;
  pod.labels["batch.kubernetes.io/job-completion-index"] =
      std::to_string(index);
  return pod;
}

TEST(MissingPods, NamesTheFirstPodsAndCountsTheOthers) {
  const std::string text = MissingPodsText(8, {0}, {PodWith(1, "Pending")});
  EXPECT_EQ(text,
            "7 of 8 pods missing: a-1: " + MissingText(PodWith(1, "Pending")) +
                "; index 2: no pod; index 3: no pod; index 4: no pod; and 3 "
                "more");
}

TEST(MissingPods, PrefersThePodThatHasNotFailed) {
  const std::string text =
      MissingPodsText(1, {}, {PodWith(0, "Failed"), PodWith(0, "Pending")});
  EXPECT_EQ(text,
            "1 of 1 pods missing: a-0: " + MissingText(PodWith(0, "Pending")));
}

TEST(MissingPods, SaysThatNothingIsMissing) {
  EXPECT_EQ(MissingPodsText(1, {0}, {}),
            "the former pods of the Job still run");
}

TEST(MissingPods, SaysThatTheJobIsUnknown) {
  EXPECT_EQ(MissingPodsText(0, {0}, {}),
            "the API server has not described the Job");
}

}  // namespace
}  // namespace canopy::kubernetes
