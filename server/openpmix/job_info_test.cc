#include "server/openpmix/job_info.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/codec/decoder.h"
#include "server/openpmix/openpmix_testing.h"

namespace canopy::openpmix {
namespace {

struct Kval {
  std::string key;
  Value value;
};

std::vector<Kval> Unpack(const std::string& calls, const CodecForm& form) {
  std::vector<Kval> out;
  Decoder decoder(calls, form);
  while (!decoder.AtEnd()) {
    KvalView kval;
    EXPECT_TRUE(decoder.UnpackKval(&kval));
    if (!decoder.ok()) break;
    Result<Value> value = DecodeValue(kval.value, form);
    EXPECT_TRUE(value.ok());
    out.push_back({std::string(kval.key), *std::move(value)});
  }
  return out;
}

std::vector<std::string> Keys(const std::vector<Kval>& kvals) {
  std::vector<std::string> keys;
  for (const Kval& kval : kvals) keys.push_back(kval.key);
  return keys;
}

// Returns the content of a rank's blob.
std::map<std::string, Value> Blob(const Value& value, const CodecForm& form,
                                  Rank* rank) {
  std::map<std::string, Value> out;
  const auto bytes = value.AsBytes();
  Decoder decoder(bytes.value(), form);
  EXPECT_TRUE(decoder.UnpackRank(rank));
  for (Kval& kval : Unpack(std::string(decoder.rest()), form)) {
    out[kval.key] = std::move(kval.value);
  }
  return out;
}

class JobInfoTest : public ::testing::TestWithParam<const char*> {
 protected:
  JobInfoTest()
      : segment_(*job_), peer_(*TraitsOf("4.2.2", GetParam(), false)) {}

  std::shared_ptr<const JobSpec> job_ = MakeTestJob();
  TestSegment segment_;
  PeerTraits peer_;
};

TEST_P(JobInfoTest, JobInfoListsTheLevelsInOrder) {
  const auto kvals = Unpack(PackJobInfo(*segment_.reader(), peer_), peer_.form);
  EXPECT_EQ(Keys(kvals),
            (std::vector<std::string>{
                PMIX_SESSION_INFO_ARRAY, PMIX_JOB_SIZE, PMIX_NODE_INFO_ARRAY,
                PMIX_NODE_INFO_ARRAY, PMIX_APP_INFO_ARRAY, PMIX_PROC_BLOB,
                PMIX_PROC_BLOB, PMIX_PROC_BLOB}));
  // The session's identifier comes first, wherever it is in the segment.
  const auto session = kvals[0].value.AsInfos().value();
  ASSERT_EQ(session.size(), 2u);
  EXPECT_EQ(KeyOf(session[0]), PMIX_SESSION_ID);
  EXPECT_EQ(KeyOf(session[1]), PMIX_UNIV_SIZE);
  EXPECT_EQ(kvals[1].value.AsUint32(), 3u);
  const auto node = kvals[3].value.AsInfos().value();
  EXPECT_EQ(StringOf(node[0].value), "node2");
}

TEST_P(JobInfoTest, JobInfoContainsTheNodeOfEachRank) {
  const auto kvals = Unpack(PackJobInfo(*segment_.reader(), peer_), peer_.form);
  for (Rank r = 0; r < 3; ++r) {
    Rank rank = kRankUndef;
    const auto blob = Blob(kvals[5 + r].value, peer_.form, &rank);
    EXPECT_EQ(rank, r);
    EXPECT_EQ(blob.at(PMIX_HOSTNAME).AsString(), r < 2 ? "node1" : "node2");
    EXPECT_EQ(blob.at(PMIX_NODEID).AsUint32(), r < 2 ? 0u : 1u);
    EXPECT_EQ(blob.at(PMIX_LOCAL_RANK).type(), PMIX_UINT16);
    EXPECT_EQ(blob.at(PMIX_GLOBAL_RANK).type(), PMIX_PROC_RANK);
    EXPECT_FALSE(blob.contains(PMIX_PROC_PID));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, JobInfoTest, ::testing::Values("v41", "v3"));

// Before 4.2 a get for rank wildcard reads only the job's data.
TEST(JobInfo, OlderPeersGetTheSessionsKeysInTheJobsData) {
  const TestSegment segment(*MakeTestJob());
  for (const auto& [version, codec] :
       {std::pair{"3.2.5", "v3"}, std::pair{"4.1.3", "v41"}}) {
    const PeerTraits peer = *TraitsOf(version, codec, false);
    const auto kvals = Unpack(PackJobInfo(*segment.reader(), peer), peer.form);
    const auto found = std::ranges::find(kvals, PMIX_UNIV_SIZE, &Kval::key);
    ASSERT_NE(found, kvals.end()) << version;
    EXPECT_EQ(found->value.AsUint32(), 8u);
  }
}

TEST(JobInfo, LargeJobsContainOnlyNecessaryKeysOfOtherRanks) {
  auto job = std::make_shared<JobSpec>(*MakeTestJob());
  for (int i = 0; i < 300; ++i) job->procs.push_back({1, 0, ""});
  const TestSegment segment(*job);
  const PeerTraits asks = *TraitsOf("4.2.2", "v41", false);
  const PeerTraits never_asks = *TraitsOf("4.1.2", "v41", false);
  const auto brief = Unpack(PackJobInfo(*segment.reader(), asks), asks.form);
  const auto full =
      Unpack(PackJobInfo(*segment.reader(), never_asks), never_asks.form);
  // Only the older client gets the session's key among those of the job.
  ASSERT_EQ(brief.size() + 1, full.size());
  const size_t first = 5;
  const size_t last = brief.size() - 1;
  Rank rank = kRankUndef;
  const auto far = Blob(brief[last].value, asks.form, &rank);
  EXPECT_EQ(rank, 302u);
  EXPECT_TRUE(far.contains(PMIX_HOSTNAME));
  EXPECT_FALSE(far.contains(PMIX_LOCAL_RANK));
  const auto near = Blob(brief[first].value, asks.form, &rank);
  EXPECT_EQ(rank, 0u);
  EXPECT_TRUE(near.contains(PMIX_LOCAL_RANK));
  EXPECT_FALSE(near.contains(PMIX_GLOBAL_RANK));
  // Each rank gets all of its own data.
  EXPECT_EQ(PackOwnInfo(*segment.reader(), never_asks, 0), "");
  const auto own = Unpack(PackOwnInfo(*segment.reader(), asks, 0), asks.form);
  ASSERT_EQ(own.size(), 1u);
  auto directory = Blob(full[first + 1].value, never_asks.form, &rank);
  EXPECT_EQ(directory.at(PMIX_PROCDIR).AsString(), "/run/0");
  directory.erase(PMIX_PROCDIR);
  EXPECT_EQ(Blob(own[0].value, asks.form, &rank), directory);
  EXPECT_EQ(PackOwnInfo(*segment.reader(), asks, 303), "");
}

TEST(JobInfo, PackStopReturnsAStopForEachRankThatStopsInInit) {
  auto job = std::make_shared<JobSpec>(*MakeTestJob());
  const PeerTraits peer = *TraitsOf("4.2.2", "v41", false);
  const auto stops = [&](Rank rank) {
    const TestSegment segment(*job);
    for (const Kval& kval :
         Unpack(PackJobInfo(*segment.reader(), peer), peer.form)) {
      EXPECT_NE(kval.key, PMIX_DEBUG_STOP_IN_INIT) << "it is not for all";
    }
    const auto kvals =
        Unpack(PackStop(*segment.reader(), peer, rank), peer.form);
    if (kvals.empty()) return false;
    EXPECT_EQ(kvals[0].key, PMIX_DEBUG_STOP_IN_INIT);
    EXPECT_EQ(kvals[0].value, Value::Rank(rank));
    return true;
  };
  EXPECT_FALSE(stops(0));
  job->debug.in_init.emplace();
  EXPECT_TRUE(stops(0));
  job->debug.in_init = std::vector<Rank>{1};
  EXPECT_FALSE(stops(0));
  EXPECT_TRUE(stops(1));
  job->debug.in_init = std::vector<Rank>{0, 2};
  EXPECT_TRUE(stops(0));
  EXPECT_FALSE(stops(1));
}

TEST(JobInfo, ToolInfoDescribesAJobOfOneProcess) {
  const PeerTraits peer = *TraitsOf("4.2.2", "v41", false);
  const auto kvals = Unpack(PackToolInfo("tool", "node1", peer), peer.form);
  EXPECT_EQ(kvals[0].key, PMIX_JOBID);
  EXPECT_EQ(kvals[0].value.AsString(), "tool");
  EXPECT_EQ(kvals.back().key, PMIX_PROC_BLOB);
}

}  // namespace
}  // namespace canopy::openpmix
