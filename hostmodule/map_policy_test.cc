#include "hostmodule/map_policy.h"

#include <gtest/gtest.h>

namespace canopy::host {
namespace {

TEST(MapBy, EverySpellingIsPrintedInItsCanonicalForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "slot"},
      {"slot", "slot"},
      {"node", "node"},
      {"core", "core"},
      {"hwthread", "hwthread"},
      {"socket", "package"},
      {"package", "package"},
      {"numa", "numa"},
      {"l1cache", "l1cache"},
      {"L2cache", "l2cache"},
      {"l3cache", "l3cache"},
      {"seq", "seq"},
      {"ppr:2:node", "ppr:2:node"},
      {"ppr:1:socket", "ppr:1:package"},
      {"ppr:4:l3cache:pe=2", "ppr:4:l3cache:pe=2"},
      {"slot:pe=2", "slot:pe=2"},
      {"core:PE=3,span", "core:pe=3:span"},
      {"node:oversubscribe", "node:oversubscribe"},
      {":OVERSUBSCRIBE", "slot:oversubscribe"},
      {"oversubscribe", "slot:oversubscribe"},
      {"slot:nooversubscribe:nolocal", "slot:nooversubscribe:nolocal"},
      {"core:hwtcpus", "core:hwtcpus"},
      {"core:overload-allowed", "core"},
  };
  for (const auto& [text, canonical] : cases) {
    Result<MapPolicy> policy = ParseMapBy(text);
    ASSERT_TRUE(policy.ok()) << text << ": " << policy.status().message();
    EXPECT_EQ(ToString(*policy), canonical) << text;
  }
}

TEST(MapBy, ErrorsAdviseTheUser) {
  const std::tuple<const char*, int, const char*> cases[] = {
      {"sokcet", kErrBadParam,
       "unknown --map-by 'sokcet'; did you mean 'socket'?"},
      {"banana", kErrBadParam,
       "unknown --map-by 'banana'; use one of slot node core hwthread package "
       "socket numa l1cache l2cache l3cache ppr seq"},
      {"slot:pe", kErrBadParam,
       "unknown --map-by modifier 'pe'; did you mean 'pe=N'?"},
      {"slot:pe=0", kErrBadParam, "--map-by pe=0: pe needs a number"},
      {"slot:pe=x", kErrBadParam, "--map-by pe=x: pe needs a number"},
      {"ppr", kErrBadParam,
       "--map-by ppr needs a number and a resource, as in ppr:2:node"},
      {"ppr:0:node", kErrBadParam,
       "--map-by ppr needs a number and a resource, as in ppr:2:node"},
      {"ppr:2:nod", kErrBadParam,
       "unknown resource in --map-by ppr 'nod'; did you mean 'node'?"},
      {"board", kErrNotSupported, "--map-by board is not supported"},
      {"core:pe-list=1", kErrNotSupported,
       "--map-by modifier pe-list=1 is not supported"},
      {"node:ovresubscribe", kErrBadParam,
       "unknown --map-by modifier 'ovresubscribe'; did you mean "
       "'oversubscribe'?"},
  };
  for (const auto& [text, code, message] : cases) {
    const Status s = ParseMapBy(text).status();
    EXPECT_EQ(s.code(), code) << text;
    EXPECT_EQ(s.message(), message);
  }
}

TEST(RankBy, AcceptsEverySpelling) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "slot"},     {"slot", "slot"}, {"fill", "slot"},
      {"node", "node"}, {"span", "span"}, {"socket", "package"},
      {"CORE", "core"},
  };
  for (const auto& [text, canonical] : cases) {
    Result<RankPolicy> policy = ParseRankBy(text);
    ASSERT_TRUE(policy.ok()) << text;
    EXPECT_EQ(ToString(*policy), canonical) << text;
  }
  EXPECT_EQ(ParseRankBy("nodes").status().message(),
            "unknown --rank-by 'nodes'; did you mean 'node'?");
}

TEST(BindTo, AcceptsEverySpelling) {
  Result<BindPolicy> none = ParseBindTo("none");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->given);
  EXPECT_FALSE(none->level);
  Result<BindPolicy> core = ParseBindTo("core:overload-allowed:if-supported");
  ASSERT_TRUE(core.ok());
  EXPECT_EQ(core->level, TopologyLevel::kCore);
  EXPECT_TRUE(core->overload_allowed);
  EXPECT_TRUE(core->if_supported);
  Result<BindPolicy> standard = ParseBindTo(":overload-allowed");
  ASSERT_TRUE(standard.ok());
  EXPECT_FALSE(standard->given);
  EXPECT_TRUE(standard->overload_allowed);
  EXPECT_EQ(ParseBindTo("cores").status().message(),
            "unknown --bind-to 'cores'; did you mean 'core'?");
  EXPECT_EQ(ParseBindTo("core:overload").code(), kErrBadParam);
}

}  // namespace
}  // namespace canopy::host
