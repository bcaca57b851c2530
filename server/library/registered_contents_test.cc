#include "server/library/registered_contents.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/library/library_testing.h"

namespace canopy::library {
namespace {

std::string Encoded(uint32_t number) {
  return EncodeValue(Value::Uint32(number).raw());
}

std::optional<std::string> Find(const shm::KeyValues& keys,
                                const std::string& key) {
  for (const auto& [name, value] : keys) {
    if (name == key) return value;
  }
  return std::nullopt;
}

// Contents derived from the map alone.
shm::SegmentContents Derived() {
  shm::SegmentContents contents;
  contents.nspace = "job";
  contents.job = {{PMIX_JOB_SIZE, Encoded(4)},
                  {PMIX_UNIV_SIZE, Encoded(4)},
                  {PMIX_MAX_RESTARTS, Encoded(0)}};
  contents.apps.resize(1);
  contents.nodes.resize(2);
  contents.procs.resize(4);
  return contents;
}

TEST(RegisteredContents, KeysOfTheHostReplaceDerivedKeys) {
  registration::Registration told = JobOfTwoNodes("job");
  told.job_keys = {{PMIX_UNIV_SIZE, Encoded(100)}, {"host.key", Encoded(1)}};
  told.apps = {{{PMIX_APP_SIZE, Encoded(4)}}};
  shm::SegmentContents contents = Derived();
  AddRegistered(told, &contents);
  EXPECT_EQ(Find(contents.job, PMIX_UNIV_SIZE), Encoded(100));
  EXPECT_EQ(Find(contents.job, PMIX_JOB_SIZE), Encoded(4));
  EXPECT_EQ(Find(contents.job, "host.key"), Encoded(1));
  EXPECT_EQ(Find(contents.apps[0], PMIX_APP_SIZE), Encoded(4));
  EXPECT_EQ(contents.job.size(), 3u);
}

TEST(RegisteredContents, NodesHaveTheNumbersOfTheHost) {
  registration::Registration told = JobOfTwoNodes("job");
  told.job.nodes[0].agent = 40;
  told.nodes = {{{"node.key", Encoded(2)}}, {}};
  shm::SegmentContents contents = Derived();
  AddRegistered(told, &contents);
  EXPECT_EQ(contents.nodes[0].id, 40u);
  EXPECT_EQ(Find(contents.nodes[0].keys, PMIX_NODEID), Encoded(40));
  EXPECT_EQ(Find(contents.nodes[0].keys, "node.key"), Encoded(2));
}

TEST(RegisteredContents, NodesWithoutProcessesAreIncluded) {
  registration::Registration told = JobOfTwoNodes("job");
  told.other_nodes.push_back({"n9", {"alias"}, 9, {{"of.n9", Encoded(3)}}});
  told.other_nodes.push_back({"", {}, std::nullopt, {}});
  shm::SegmentContents contents = Derived();
  AddRegistered(told, &contents);
  ASSERT_EQ(contents.nodes.size(), 4u);
  EXPECT_EQ(contents.nodes[2].name, "n9");
  EXPECT_EQ(contents.nodes[2].id, 9u);
  EXPECT_EQ(Find(contents.nodes[2].keys, "of.n9"), Encoded(3));
  EXPECT_TRUE(Find(contents.nodes[2].keys, PMIX_HOSTNAME).has_value());
  EXPECT_EQ(contents.nodes[3].id, kNoNode);
}

TEST(RegisteredContents, ProcessesHaveTheValuesOfTheHost) {
  registration::Registration told = JobOfTwoNodes("job");
  told.procs.resize(4);
  told.procs[2].numbers.local_rank = 5;
  told.procs[2].global_rank = 70;
  told.procs[2].cpuset = "cpus";
  shm::SegmentContents contents = Derived();
  contents.procs[2].locality = "derived";
  AddRegistered(told, &contents);
  EXPECT_EQ(contents.procs[2].local_rank, 5);
  EXPECT_EQ(contents.procs[2].global_rank, 70u);
  EXPECT_EQ(contents.procs[2].cpuset, "cpus");
  EXPECT_EQ(contents.procs[2].locality, "derived");
}

TEST(RegisteredContents, UnreservedKeysOfProcessesAreCommittedData) {
  registration::Registration told = JobOfTwoNodes("job");
  told.procs.resize(4);
  told.procs[3].keys = {{"proc.key", Encoded(6)}};
  const auto all = KeysOfProcesses(told);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].proc, (ProcId{"job", 3}));
  EXPECT_TRUE(all[0].only_changes);
  Decoder in(all[0].visible.view());
  KvalView kval;
  ASSERT_TRUE(in.GetKval(&kval));
  EXPECT_EQ(kval.key, "proc.key");
  EXPECT_TRUE(in.done());
}

}  // namespace
}  // namespace canopy::library
