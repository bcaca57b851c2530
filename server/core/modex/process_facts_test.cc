#include "server/core/modex/process_facts.h"

#include <gtest/gtest.h>

#include "common/codec/decoder.h"
#include "common/process_keys.h"
#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

constexpr auto kPid = kPidKey;
constexpr auto kExitCode = kExitCodeKey;

pmix_value_t ValueOf(const Bytes& bytes, std::string_view key) {
  Decoder decoder(bytes.view());
  KvalView kval;
  EXPECT_TRUE(decoder.GetKval(&kval));
  EXPECT_EQ(kval.key, key);
  EXPECT_TRUE(decoder.AtEnd());
  pmix_value_t value = {};
  EXPECT_EQ(DecodeValue(kval.value, &value), kSuccess);
  return value;
}

TEST(ProcessFacts, PidIsKnownFromTheStartAndExitCodeAfterTheEnd) {
  JobTable jobs(0);
  const Job& job = *jobs.Add(JobOn("job", {0, 1}));
  EXPECT_FALSE(DecideFact(job, 0, kPid).has_value());
  EXPECT_EQ(DecideFact(job, 0, kExitCode), kErrNotFound);
  EXPECT_TRUE(FactOf(job, 0, kPid).view().empty());
  jobs.NoteStarted({"job", 0}, 4711);
  EXPECT_EQ(DecideFact(job, 0, kPid), kSuccess);
  const pmix_value_t pid = ValueOf(FactOf(job, 0, kPid), kPid);
  EXPECT_EQ(pid.type, PMIX_PID);
  EXPECT_EQ(pid.data.pid, 4711);
  jobs.NoteExit({"job", 0}, 137);
  jobs.MarkEnded("job", 0);
  const pmix_value_t code = ValueOf(FactOf(job, 0, kExitCode), kExitCode);
  EXPECT_EQ(code.type, PMIX_INT);
  EXPECT_EQ(code.data.integer, 137);
  EXPECT_EQ(DecideFact(job, 0, kPid), kSuccess);
}

TEST(ProcessFacts, ARestartedProcessHasNoExitCode) {
  JobTable jobs(0);
  const Job& job = *jobs.Add(JobOn("job", {0}));
  jobs.NoteStarted({"job", 0}, 4711);
  jobs.NoteExit({"job", 0}, 137);
  jobs.NoteStarted({"job", 0}, 0);
  EXPECT_EQ(DecideFact(job, 0, kExitCode), kErrNotFound);
  EXPECT_FALSE(DecideFact(job, 0, kPid).has_value());
}

TEST(ProcessFacts, AProcessThatNeverStartedHasNoFacts) {
  JobTable jobs(0);
  const Job& job = *jobs.Add(JobOn("job", {0}));
  jobs.MarkEnded("job", 0);
  EXPECT_EQ(DecideFact(job, 0, kPid), kErrNotFound);
  EXPECT_EQ(DecideFact(job, 0, kExitCode), kErrNotFound);
}

TEST(ProcessFacts, OnlyLocalProcessesAreRecorded) {
  JobTable jobs(0);
  const Job& job = *jobs.Add(JobOn("job", {0, 1}));
  jobs.NoteStarted({"job", 1}, 5);
  jobs.NoteStarted({"job", 9}, 5);
  jobs.NoteExit({"other", 0}, 5);
  EXPECT_TRUE(job.processes.empty());
  EXPECT_TRUE(IsProcessFact(kPid));
  EXPECT_FALSE(IsProcessFact("pmix.rank"));
}

}  // namespace
}  // namespace canopy::core
