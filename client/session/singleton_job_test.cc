#include "client/session/singleton_job.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/codec/decoder.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

Value Decoded(std::optional<std::string_view> encoded) {
  return encoded ? *DecodeValue(*encoded) : Value();
}

TEST(SingletonJob, TheJobHasOneProcessOnOneNode) {
  const SingletonJob job("alone", "host");
  EXPECT_EQ(Decoded(job.FindJob(PMIX_JOB_SIZE)), Value::Uint32(1));
  EXPECT_EQ(Decoded(job.FindSession(PMIX_UNIV_SIZE)), Value::Uint32(1));
  EXPECT_EQ(Decoded(job.FindApp(0, PMIX_APP_SIZE)), Value::Uint32(1));
  EXPECT_FALSE(job.FindApp(1, PMIX_APP_SIZE));
  EXPECT_EQ(Decoded(job.FindNode(0, PMIX_LOCAL_PEERS)), Value::String("0"));
  EXPECT_FALSE(job.FindNode(1, PMIX_LOCAL_PEERS));
  EXPECT_EQ(job.NodeByName("host"), 0u);
  EXPECT_FALSE(job.NodeByName("other"));
  EXPECT_EQ(job.NodeOf(0), 0u);
  EXPECT_EQ(job.NodeOf(1), kNoNode);
  EXPECT_EQ(job.RanksOn(0).size(), 1u);
  EXPECT_TRUE(job.RanksOn(1).empty());
}

TEST(SingletonJob, AdditionalDataAreFoundForTheJobAndTheProcess) {
  InfoList more;
  more.Add(PMIX_PARENT_ID, Value::Proc({"tool", 2}));
  const SingletonJob job("alone", "host", more);
  EXPECT_EQ(Decoded(job.FindJob(PMIX_PARENT_ID)), Value::Proc({"tool", 2}));
  Value value;
  int status = PMIX_ERROR;
  EXPECT_EQ(job.ReadProc(0, PMIX_PARENT_ID, value.mutable_raw(), &status),
            Presence::kFound);
  EXPECT_EQ(value, Value::Proc({"tool", 2}));
}

TEST(SingletonJob, TheJobHasTheKeysThatAnAgentProvides) {
  const SingletonJob job("alone", "host");
  EXPECT_EQ(Decoded(job.FindJob(PMIX_NODE_MAP)), Value::String("pmix[host]"));
  EXPECT_EQ(Decoded(job.FindJob(PMIX_PROC_MAP)), Value::String("pmix[0]"));
  EXPECT_EQ(Decoded(job.FindApp(0, PMIX_PROC_MAP)), Value::String("pmix[0]"));
  EXPECT_EQ(Decoded(job.FindApp(0, PMIX_APPNUM)), Value::Uint32(0));
  const Value command = Decoded(job.FindJob(PMIX_CMD_LINE));
  ASSERT_EQ(command.raw().type, PMIX_STRING);
  EXPECT_NE(std::string(command.raw().data.string).find("singleton_job_test"),
            std::string::npos);
  EXPECT_EQ(Decoded(job.FindApp(0, PMIX_APP_ARGV)), command);
  EXPECT_EQ(Decoded(job.FindSession(PMIX_TMPDIR)).raw().type, PMIX_STRING);
}

TEST(SingletonJob, TheProcessHasItsReservedKeys) {
  const SingletonJob job("alone", "host");
  pmix_value_t value = {};
  int status = 1;
  ASSERT_EQ(job.ReadProc(0, PMIX_PROCID, &value, &status), Presence::kFound);
  EXPECT_EQ(status, PMIX_SUCCESS);
  EXPECT_EQ(Value::Adopt(&value), Value::Proc({"alone", 0}));
  EXPECT_EQ(job.ReadProc(1, PMIX_PROCID, &value, &status), Presence::kAbsent);
  EXPECT_EQ(job.ReadProc(0, "absent", &value, &status), Presence::kAbsent);
  std::set<std::string> keys;
  job.ForEachProc(
      0, [&](std::string_view key, auto) { keys.insert(std::string(key)); },
      [] {});
  EXPECT_TRUE(keys.contains(PMIX_LOCAL_RANK));
}

TEST(SingletonJob, TheJobOfAServerHasNoProcessData) {
  const auto job = SingletonJob::OfServer("server", "host");
  EXPECT_EQ(Decoded(job->FindNode(0, PMIX_HOSTNAME)), Value::String("host"));
  pmix_value_t value = {};
  int status = 1;
  EXPECT_EQ(job->ReadProc(0, PMIX_RANK, &value, &status), Presence::kAbsent);
  bool any = false;
  job->ForEachProc(
      0, [&](auto, auto) { any = true; }, [] {});
  EXPECT_FALSE(any);
}

}  // namespace
}  // namespace canopy::client
