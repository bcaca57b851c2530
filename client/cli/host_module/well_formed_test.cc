#include "client/cli/host_module/well_formed.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;

v1h::Info Text(const std::string& key, const std::string& text) {
  v1h::Info info;
  info.set_key(key);
  info.mutable_value()->set_text(text);
  return info;
}

TEST(WellFormedTest, FindsProblemsOfInfos) {
  EXPECT_EQ(ProblemOf(Text("pmix.key", "value")), "");
  EXPECT_NE(ProblemOf(Text("", "value")), "");
  EXPECT_EQ(ProblemOf(Text(std::string(511, 'k'), "")), "");
  EXPECT_NE(ProblemOf(Text(std::string(512, 'k'), "")), "");
  EXPECT_NE(ProblemOf(Text("key", std::string("a\0b", 3))), "");
  v1h::Info info = Text("key", "value");
  info.mutable_value()->set_type(v1h::DATA_TYPE_STRING);
  EXPECT_EQ(ProblemOf(info), "");
  info.mutable_value()->set_type(v1h::DATA_TYPE_BOOL);
  EXPECT_NE(ProblemOf(info), "");
  info.mutable_value()->set_integer(-1);
  EXPECT_EQ(ProblemOf(info), "") << "of integers there are many types";
  info.mutable_value()->set_type(static_cast<v1h::DataType>(1 << 16));
  EXPECT_NE(ProblemOf(info), "");
  info.clear_value();
  EXPECT_NE(ProblemOf(info), "");
  *info.mutable_value()->mutable_infos()->add_infos() = Text("", "");
  EXPECT_NE(ProblemOf(info), "") << "one inside";
}

TEST(WellFormedTest, FindsProblemsOfResults) {
  v1h::QueryResponse response;
  EXPECT_EQ(ProblemOf(response.results()), "");
  for (int i = 0; i < 512; ++i) *response.add_results() = Text("key", "value");
  EXPECT_EQ(ProblemOf(response.results()), "");
  *response.add_results() = Text("key", "value");
  EXPECT_NE(ProblemOf(response.results()), "");
  response.clear_results();
  response.add_results();
  EXPECT_NE(ProblemOf(response.results()), "");
}

TEST(WellFormedTest, FindsProblemsOfCapabilities) {
  v1h::GetCapabilitiesResponse reply;
  EXPECT_EQ(ProblemOf(reply), "");
  reply.add_features(v1h::FEATURE_LOG);
  EXPECT_EQ(ProblemOf(reply), "");
  reply.add_features(v1h::FEATURE_PLACE_JOB);
  EXPECT_NE(ProblemOf(reply), "") << "without attach";
  reply.add_features(v1h::FEATURE_ATTACH);
  EXPECT_EQ(ProblemOf(reply), "");
  reply.add_features(v1h::FEATURE_LOG);
  EXPECT_NE(ProblemOf(reply), "") << "twice";
  reply.clear_features();
  reply.set_name("\x1b[31m");
  EXPECT_NE(ProblemOf(reply), "");
}

TEST(WellFormedTest, FindsProblemsOfGrants) {
  const std::function<void(v1h::Granted*)> breaks[] = {
      [](v1h::Granted* g) { g->clear_host_job_id(); },
      [](v1h::Granted* g) { g->set_host_job_id(std::string(256, 'x')); },
      [](v1h::Granted* g) { g->clear_nodes(); },
      [](v1h::Granted* g) { g->mutable_nodes(0)->set_slots(0); },
      [](v1h::Granted* g) { *g->add_nodes() = g->nodes(0); },
      [](v1h::Granted* g) { g->add_env("NOTHING"); },
      [](v1h::Granted* g) { g->add_env("=value"); },
      [](v1h::Granted* g) { g->set_host_job_id("\x1b[31m"); },
      [](v1h::Granted* g) { g->mutable_nodes(0)->set_slots(4097); },
      [](v1h::Granted* g) {
        for (int i = 0; i < 4097; ++i) g->add_env("A=b");
      },
  };
  v1h::Granted good;
  good.set_host_job_id("1");
  good.add_nodes()->set_name("n1");
  good.mutable_nodes(0)->set_slots(1);
  good.add_env("A=");
  EXPECT_EQ(ProblemOf(good), "");
  for (const auto& make_bad : breaks) {
    v1h::Granted bad = good;
    make_bad(&bad);
    EXPECT_NE(ProblemOf(bad), "") << bad.ShortDebugString();
  }
}

TEST(WellFormedTest, FindsProblemsOfReasonsAndTimes) {
  v1h::Queued queued;
  EXPECT_EQ(ProblemOf(queued, 1000), "");
  queued.mutable_queue_time()->set_seconds(1);
  EXPECT_EQ(ProblemOf(queued, 1000), "");
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 60}) {
    queued.mutable_queue_time()->set_seconds(bad);
    EXPECT_NE(ProblemOf(queued, 1000), "");
  }
  queued.clear_queue_time();
  for (const std::string& bad : {std::string("two\nlines"), std::string("\x1b"),
                                 std::string(1025, 'x')}) {
    queued.set_reason(bad);
    EXPECT_NE(ProblemOf(queued, 1000), "");
  }
  queued.clear_reason();
  queued.set_cookie(std::string(4097, 'x'));
  EXPECT_NE(ProblemOf(queued, 1000), "");
}

TEST(WellFormedTest, FeatureNameReturnsTheNameOrTheNumber) {
  EXPECT_EQ(FeatureName(v1h::FEATURE_PLACE_JOB), "place_job");
  EXPECT_EQ(FeatureName(static_cast<v1h::Feature>(99)), "feature 99");
}

}  // namespace
}  // namespace canopy::cli
