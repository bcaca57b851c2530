#include "server/core/job_record.h"

#include <gtest/gtest.h>

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

TEST(JobRecordTest, RoundTrip) {
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

TEST(JobRecordTest, NothingElseIsRead) {
  const std::string bytes = EncodeHeadRecord(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeHeadRecord(bytes.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(DecodeHeadRecord(bytes + "x").has_value());
}

}  // namespace
}  // namespace canopy::core
