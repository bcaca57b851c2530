#include "server/datastore/session_contents.h"

#include <gtest/gtest.h>

#include <string>

#include "common/codec/decoder.h"
#include "pmix_common.h"

namespace canopy::datastore {
namespace {

// A job of three ranks on the nodes of agents 2 and 0. It is the third job of
// its session.
JobSpec ThirdJob() {
  JobSpec job;
  job.nspace = "third";
  job.nproc_offset = 5;
  job.universe_size = 12;
  job.apps.resize(1);
  job.allocation = {"c", "a"};
  job.nodes = {{"c", {}, 2}, {"a", {}, 0}};
  job.procs = {{0, 0, ""}, {0, 0, ""}, {1, 0, ""}};
  job.others = {{"first", 0, {{0, 2}, {1, 1}, {0, 1}}},
                {"second", 4, {{1, 1}, {2, 0}}}};
  return job;
}

NodeFacts Facts() {
  NodeFacts facts;
  facts.self = 2;
  for (const char* name : {"a", "b", "c", "d"}) {
    facts.nodes.push_back({name, 0, "", nullptr});
  }
  return facts;
}

Value Find(const shm::KeyValues& keys, std::string_view key) {
  for (const auto& [name, encoded] : keys) {
    if (name == key) return *DecodeValue(encoded);
  }
  return Value();
}

TEST(SessionContents, TheMapsContainAllJobsOfTheSession) {
  const shm::KeyValues keys = SessionContents(ThirdJob(), Facts());
  EXPECT_EQ(Find(keys, PMIX_UNIV_SIZE), Value::Uint32(12));
  EXPECT_EQ(Find(keys, PMIX_ALLOCATED_NODELIST), Value::String("a,b,c,d"));
  EXPECT_EQ(Find(keys, PMIX_NUM_ALLOCATED_NODES), Value::Uint32(4));
  EXPECT_EQ(Find(keys, PMIX_NUM_NODES), Value::Uint32(3));
  EXPECT_EQ(Find(keys, PMIX_NODE_LIST), Value::String("a,b,c"));
  EXPECT_EQ(Find(keys, PMIX_PROC_MAP), Value::String("pmix[0-1,3,7;2,4;5-6]"));
  EXPECT_EQ(Find(keys, PMIX_ANL_MAP),
            Value::String("(vector,(0,1,2),(1,1,1),(0,2,1),(2,1,2),(0,1,1))"));
}

TEST(SessionContents, TheVectorMapIsEmptyIfRanksHaveGaps) {
  JobSpec job = ThirdJob();
  job.others.pop_back();
  const shm::KeyValues keys = SessionContents(job, Facts());
  EXPECT_EQ(Find(keys, PMIX_PROC_MAP), Value::String("pmix[0-1,3,7;2;5-6]"));
  EXPECT_TRUE(Find(keys, PMIX_ANL_MAP).empty());
}

TEST(SessionContents, MapsAreLeftOutIfANodeHasNoName) {
  JobSpec job = ThirdJob();
  job.others[1].runs[0].agent = 9;
  const shm::KeyValues keys = SessionContents(job, Facts());
  EXPECT_TRUE(Find(keys, PMIX_NODE_LIST).empty());
  EXPECT_EQ(Find(keys, PMIX_UNIV_SIZE), Value::Uint32(12));
}

TEST(SessionContents, OtherProcsListsProcessesByNode) {
  const auto procs = OtherProcs(ThirdJob());
  const std::vector<ProcId> first = {{"first", 0}, {"first", 1}, {"first", 3}};
  EXPECT_EQ(procs.at(0), first);
  const std::vector<ProcId> second = {{"first", 2}, {"second", 0}};
  EXPECT_EQ(procs.at(1), second);
}

}  // namespace
}  // namespace canopy::datastore
