#include "server/agent/persistence/launch_facts.h"

#include <gtest/gtest.h>

namespace canopy::agent {
namespace {

control::LaunchFacts Spawned() {
  control::LaunchFacts facts;
  facts.oversubscribe = true;
  facts.separate = true;
  facts.spawn_request = 7;
  return facts;
}

void IsTheSame(const control::LaunchFacts& facts) {
  const control::LaunchFacts read = DecodeFacts(EncodeFacts(facts));
  EXPECT_EQ(read.oversubscribe, facts.oversubscribe);
  EXPECT_EQ(read.separate, facts.separate);
  EXPECT_EQ(read.spawn_request, facts.spawn_request);
  EXPECT_EQ(read.reports, facts.reports);
  EXPECT_EQ(read.start_deadline, facts.start_deadline);
  EXPECT_EQ(read.tool, facts.tool);
  EXPECT_EQ(read.cospawned, facts.cospawned);
  EXPECT_EQ(read.partner, facts.partner);
  EXPECT_EQ(read.apart, facts.apart);
  EXPECT_EQ(read.placed.id, facts.placed.id);
  EXPECT_EQ(read.placed.host_job, facts.placed.host_job);
  EXPECT_EQ(read.placed.queued_ms, facts.placed.queued_ms);
  EXPECT_EQ(read.placed.started_ms, facts.placed.started_ms);
  EXPECT_EQ(read.placed.caller_job, facts.placed.caller_job);
  EXPECT_EQ(read.requeued, facts.requeued);
  EXPECT_EQ(read.suspended, facts.suspended);
  EXPECT_EQ(read.nohup, facts.nohup);
  EXPECT_EQ(read.unattended, facts.unattended);
  EXPECT_EQ(read.wishes, facts.wishes);
  ASSERT_EQ(read.host_output.has_value(), facts.host_output.has_value());
  if (!facts.host_output) return;
  EXPECT_EQ(read.host_output->output, facts.host_output->output);
  EXPECT_EQ(read.host_output->error, facts.host_output->error);
  EXPECT_EQ(read.host_output->append, facts.host_output->append);
}

TEST(LaunchFactsTest, EncodedFactsAreDecodedUnchanged) {
  IsTheSame({});
  control::LaunchFacts facts = Spawned();
  IsTheSame(facts);
  facts.reports = 5;
  facts.start_deadline = -6;
  IsTheSame(facts);
  facts.tool = true;
  IsTheSame(facts);
  facts.wishes = std::string("\0tags", 5);
  IsTheSame(facts);
  facts = {};
  facts.tool = true;
  IsTheSame(facts);
  facts = Spawned();
  facts.partner = "other";
  IsTheSame(facts);
  facts.partner.clear();
  facts.cospawned = true;
  IsTheSame(facts);
  facts.apart = true;
  IsTheSame(facts);
  facts = {};
  facts.placed = {{"canopy-1-2", 3}, "job 7", 4, 5, "job 6"};
  IsTheSame(facts);
  facts.requeued = true;
  IsTheSame(facts);
  facts.suspended = true;
  IsTheSame(facts);
  facts.host_output = {"/a/out", "", true};
  IsTheSame(facts);
  facts.nohup = true;
  IsTheSame(facts);
  facts.host_output.reset();
  facts.unattended = true;
  IsTheSame(facts);
}

TEST(LaunchFactsTest, ATruncatedRecordIsIgnored) {
  control::LaunchFacts facts = Spawned();
  facts.tool = true;
  const std::string bytes = EncodeFacts(facts);
  EXPECT_TRUE(DecodeFacts(bytes).oversubscribe);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(DecodeFacts(bytes.substr(0, n)).oversubscribe) << n;
  }
  EXPECT_FALSE(DecodeFacts(bytes + "x").oversubscribe);
}

}  // namespace
}  // namespace canopy::agent
