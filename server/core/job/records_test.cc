#include "server/core/job/records.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

HeadRecord Sample() {
  HeadRecord record;
  record.started = record.ending = record.out_of_time = true;
  record.kill_requests = 2;
  record.since = 123456789012;
  record.timeout = kNever;
  record.failure = JobFailure{7, -12, 3, "rank 3 ended"};
  record.expected = {1, 70000};
  record.lost = {0, 9};
  return record;
}

TEST(JobRecordTest, DecodingRestoresTheRecord) {
  const std::string bytes = EncodeHeadRecord(Sample());
  const auto back = DecodeHeadRecord(bytes);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(EncodeHeadRecord(*back), bytes);
  EXPECT_EQ(back->since, 123456789012);
  EXPECT_EQ(back->timeout, kNever);
  EXPECT_EQ(back->failure->status, -12);
  EXPECT_EQ(back->failure->text, "rank 3 ended");
  EXPECT_EQ(back->lost, (std::vector<NodeId>{0, 9}));
}

TEST(JobRecordTest, MalformedBytesAreRejected) {
  const std::string bytes = EncodeHeadRecord(Sample());
  EXPECT_FALSE(DecodeHeadRecord("").has_value());
  EXPECT_FALSE(DecodeHeadRecord(bytes.substr(0, bytes.size() - 1)).has_value());
  EXPECT_FALSE(DecodeHeadRecord(bytes + "x").has_value());
}

// An empty record would mean that the launch had not begun.
TEST(JobRecordTest, TheEncodedRecordIsNeverEmpty) {
  HeadRecord record;
  record.timeout = record.warn_at = 0;
  EXPECT_FALSE(EncodeHeadRecord(record).empty());
  EXPECT_FALSE(ControllerRecord("job", 0).value.empty());
}

TEST(JobRecordTest, DecodingRestoresPortAndTimeLimits) {
  HeadRecord record = Sample();
  record.port = 4711;
  record.limits = 2;
  record.warn_at = 99;
  const auto back = DecodeHeadRecord(EncodeHeadRecord(record));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->port, 4711);
  EXPECT_EQ(back->limits, 2u);
  EXPECT_EQ(back->warn_at, 99);
}

TEST(HeadPersistenceTest, AnUnchangedHeadIsNotPersistedAgain) {
  const Tree tree(1, 2);
  Actions out;
  const JobStep step{{5, out}, 0, tree};
  HeadPersistence disabled(false);
  disabled.Persist(step, "job", Sample());
  EXPECT_TRUE(out.empty());
  HeadPersistence persistence(true);
  HeadRecord record = Sample();
  persistence.Persist(step, "job", record);
  persistence.Persist(step, "job", record);
  ++record.kill_requests;
  persistence.Persist(step, "job", record);
  const auto states = All<PersistControlState>(out);
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(DecodeHeadRecord(states[1].state.view())->kill_requests, 3u);
}

class RoleTest : public testing::Test {
 protected:
  static constexpr NodeId kSelf = 2;
  RoleTest() { in_.job = JobOn("job", {2}); }
  RecoveredRole Read() const { return ReadRole(9, in_, kSelf, 0, 4); }
  void Name(NodeId controller) {
    const PersistRecord record = ControllerRecord("job", controller);
    in_.records.push_back({record.key, record.value});
  }

  JobRecovered in_;
};

TEST_F(RoleTest, TheRootControlsJobsWithoutAController) {
  EXPECT_EQ(Read().controller, 0u);
  EXPECT_TRUE(Read().Usable(kSelf));
  Name(77);  // not a member
  EXPECT_EQ(Read().controller, 0u);
}

TEST_F(RoleTest, TheRecordNamesTheController) {
  in_.records.push_back({"controller", Bytes("garbage")});
  Name(3);
  EXPECT_EQ(Read().controller, 3u);
  EXPECT_FALSE(Read().head.has_value());
}

TEST_F(RoleTest, TheHeadIsReadFromTheControlRecord) {
  Name(3);
  in_.control = Bytes(EncodeHeadRecord(Sample()));
  EXPECT_EQ(Read().controller, kSelf);
  EXPECT_EQ(Read().head->kill_requests, 2u);
  in_.control = Bytes("garbage");
  EXPECT_FALSE(Read().Usable(kSelf));
}

TEST_F(RoleTest, AnEmptyRecordMeansThatTheLaunchHadNotBegun) {
  auto spec = std::make_shared<JobSpec>(*in_.job);
  spec->timeout_seconds = 1;
  in_.job = spec;
  in_.control = Bytes();
  EXPECT_EQ(Read().head->since, 9);
  EXPECT_EQ(Read().head->timeout, 1'000'000'009);
  EXPECT_FALSE(Read().head->started);
}

TEST(InputRunRecordTest, TheLastInputRunIsRecovered) {
  EXPECT_EQ(RecoverInputRun({}).id, 0u);
  std::vector<PersistedRecord> records = {{"killed ", Bytes("x")}};
  for (const uint64_t run : {7u, 9u}) {
    const PersistRecord record = InputRunRecord("job", {run, run * 100});
    records.push_back({record.key, record.value});
  }
  records.push_back({records.back().key, Bytes("x")});
  const InputOrder::Run last = RecoverInputRun(records);
  EXPECT_EQ(last.id, 9u);
  EXPECT_EQ(last.begin, 900u);
}

}  // namespace
}  // namespace canopy::core
