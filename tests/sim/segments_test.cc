#include "tests/sim/segments.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/sim/jobs.h"
#include "tests/sim/kvals.h"

namespace canopy::sim {
namespace {

class SegmentsTest : public testing::Test {
 protected:
  SegmentsTest() {
    const JobSpec job = MakeJob("job", 2, 1);
    oracle_.OnJob(job);
    core::RegisterJob a{std::make_shared<const JobSpec>(job), nullptr};
    segments_.On(0, a);
  }
  // Publishes a commit of rank 1 on node 0.
  void Publish(const std::string& key, const std::string& value,
               bool only_changes) {
    oracle_.OnCommit(kRank, core::Scope::kGlobal, key, value);
    core::PublishRank a;
    a.proc = kRank;
    a.visible = Bytes(Kval(key, value));
    a.only_changes = only_changes;
    segments_.On(0, a);
  }

  const ProcId kRank{"job", 1};
  Errors errors_;
  Oracle oracle_{[this](const std::string& e) { errors_.push_back(e); }};
  Segments segments_{2, oracle_, errors_};
};

TEST_F(SegmentsTest, ChangesAreMergedWithPublishedData) {
  Publish("a", "1", false);
  Publish("b", "2", true);
  Publish("a", "3", true);
  const std::string kvals = segments_.PublishedOf(0, kRank);
  EXPECT_EQ(ValueOf(kvals, "a"), "3");
  EXPECT_EQ(ValueOf(kvals, "b"), "2");
  EXPECT_TRUE(errors_.empty()) << errors_.front();
}

TEST_F(SegmentsTest, ADroppedJobLeavesNoSegment) {
  Publish("a", "1", false);
  std::vector<std::string> left;
  segments_.AddLeftovers(0, &left);
  EXPECT_EQ(left, std::vector<std::string>{"the segment of job"});
  core::DropJob a{"job"};
  segments_.On(0, a);
  EXPECT_FALSE(segments_.IsRegistered(0, "job"));
  EXPECT_EQ(segments_.PublishedOf(0, kRank), "");
  segments_.On(0, a);
  EXPECT_EQ(errors_.size(), 1u) << "it is dropped twice";
}

TEST_F(SegmentsTest, PublishingWithoutASegmentIsAnError) {
  core::PublishRank a;
  a.proc = kRank;
  segments_.On(1, a);
  EXPECT_EQ(errors_.size(), 1u);
}

TEST_F(SegmentsTest, ResetReturnsThePublishedData) {
  Publish("a", "1", false);
  const Segments::Published published = segments_.Reset(0);
  ASSERT_EQ(published.size(), 1u);
  EXPECT_EQ(published.begin()->first, kRank);
  EXPECT_FALSE(segments_.IsRegistered(0, "job"));
}

}  // namespace
}  // namespace canopy::sim
