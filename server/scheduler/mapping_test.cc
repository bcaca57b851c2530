#include "server/scheduler/mapping.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;

TEST(MappingTest, PoliciesSurviveARoundTrip) {
  for (const char* const map_by :
       {"slot", "node", "seq", "core", "hwthread", "package", "numa", "l3cache",
        "l2cache", "l1cache", "ppr:2:node", "ppr:3:numa", "slot:pe=2",
        "node:span"}) {
    const Result<std::string> text = MapByOf(MappingOf(map_by));
    ASSERT_TRUE(text.ok()) << map_by;
    EXPECT_EQ(*text, map_by);
  }
  EXPECT_EQ(*MapByOf(v1::Mapping()), "slot");
}

TEST(MappingTest, TheNeedsOfAProcessAreDerivedFromThePolicy) {
  EXPECT_EQ(NeedsOf("slot:pe=3").slots_per_process, 3u);
  EXPECT_EQ(NeedsOf("slot:pe=3").cpus_per_process, 3u);
  EXPECT_EQ(NeedsOf("slot").slots_per_process, 1u);
  EXPECT_EQ(NeedsOf("slot").cpus_per_process, 0u);
  EXPECT_EQ(NeedsOf("ppr:2:node").max_procs_per_node, 2u);
  EXPECT_FALSE(NeedsOf("ppr:2:core").max_procs_per_node);
  EXPECT_TRUE(NeedsOf("slot:nolocal").not_here);
  EXPECT_EQ(NeedsOf("nonsense").slots_per_process, 1u);
}

TEST(MappingTest, ContradictoryMappingsAreRejected) {
  v1::Mapping mapping;
  mapping.set_procs_per_resource(2);
  EXPECT_FALSE(MapByOf(mapping).ok()) << "of slots";
  mapping.set_policy(v1::MAP_POLICY_NODE);
  EXPECT_TRUE(MapByOf(mapping).ok());
  mapping.set_procs_per_resource(0);
  EXPECT_FALSE(MapByOf(mapping).ok());
  mapping.clear_procs_per_resource();
  mapping.set_cpus_per_process(0);
  EXPECT_FALSE(MapByOf(mapping).ok());
  mapping.clear_cpus_per_process();
  mapping.set_policy(static_cast<v1::MapPolicy>(99));
  EXPECT_FALSE(MapByOf(mapping).ok());
}

}  // namespace
}  // namespace canopy::scheduler
