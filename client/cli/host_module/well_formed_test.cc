#include "client/cli/host_module/well_formed.h"

#include <gtest/gtest.h>

#include <functional>
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

TEST(WellFormedTest, Infos) {
  EXPECT_EQ(ProblemOf(Text("pmix.key", "value")), "");
  EXPECT_NE(ProblemOf(Text("", "value")), "");
  EXPECT_EQ(ProblemOf(Text(std::string(511, 'k'), "")), "");
  EXPECT_NE(ProblemOf(Text(std::string(512, 'k'), "")), "");
  EXPECT_NE(ProblemOf(Text("key", std::string("a\0b", 3))), "");
  v1h::Info info = Text("key", "value");
  info.mutable_value()->set_type(3);
  EXPECT_EQ(ProblemOf(info), "");
  info.mutable_value()->set_type(1);
  EXPECT_NE(ProblemOf(info), "");
  info.mutable_value()->set_integer(-1);
  EXPECT_EQ(ProblemOf(info), "") << "of integers there are many types";
  info.mutable_value()->set_type(1u << 16);
  EXPECT_NE(ProblemOf(info), "");
  info.clear_value();
  EXPECT_NE(ProblemOf(info), "");
  *info.mutable_value()->mutable_infos()->add_infos() = Text("", "");
  EXPECT_NE(ProblemOf(info), "") << "one inside";
}

TEST(WellFormedTest, Replies) {
  v1h::HostReply reply;
  EXPECT_EQ(ProblemOf(reply), "");
  *reply.add_results() = Text("key", "value");
  EXPECT_EQ(ProblemOf(reply), "");
  reply.set_message("two\nlines");
  EXPECT_NE(ProblemOf(reply), "");
  reply.clear_message();
  reply.add_results();
  EXPECT_NE(ProblemOf(reply), "");
}

TEST(WellFormedTest, Capabilities) {
  v1h::GetCapabilitiesReply reply;
  EXPECT_EQ(ProblemOf(reply), "");
  reply.add_slots(v1h::SLOT_LOG);
  EXPECT_EQ(ProblemOf(reply), "");
  reply.add_slots(v1h::SLOT_PLACE_JOB);
  EXPECT_NE(ProblemOf(reply), "") << "without attach";
  reply.add_slots(v1h::SLOT_ATTACH);
  EXPECT_EQ(ProblemOf(reply), "");
  reply.add_slots(v1h::SLOT_LOG);
  EXPECT_NE(ProblemOf(reply), "") << "twice";
}

TEST(WellFormedTest, Grants) {
  const std::function<void(v1h::Granted*)> breaks[] = {
      [](v1h::Granted* g) { g->clear_host_job_id(); },
      [](v1h::Granted* g) { g->set_host_job_id(std::string(256, 'x')); },
      [](v1h::Granted* g) { g->clear_nodes(); },
      [](v1h::Granted* g) { g->mutable_nodes(0)->set_slots(0); },
      [](v1h::Granted* g) { *g->add_nodes() = g->nodes(0); },
      [](v1h::Granted* g) { g->add_env("NOTHING"); },
      [](v1h::Granted* g) { g->add_env("=value"); },
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

TEST(WellFormedTest, RefusalsAndTimes) {
  v1h::Refused refused;
  EXPECT_EQ(ProblemOf(refused), "");
  refused.set_status(1);
  EXPECT_NE(ProblemOf(refused), "");
  v1h::Queued queued;
  EXPECT_EQ(ProblemOf(queued, 1000), "");
  queued.set_since_ms(1000);
  EXPECT_EQ(ProblemOf(queued, 1000), "");
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 60}) {
    queued.set_since_ms(bad);
    EXPECT_NE(ProblemOf(queued, 1000), "");
  }
}

TEST(WellFormedTest, NamesOfSlots) {
  EXPECT_EQ(SlotName(v1h::SLOT_PLACE_JOB), "place_job");
  EXPECT_EQ(SlotName(static_cast<v1h::Slot>(99)), "slot 99");
}

}  // namespace
}  // namespace canopy::cli
