#include "client/cli/commands/node_changes.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

v1::Context ContextOf(const std::vector<std::string>& nodes) {
  v1::Context context;
  for (const std::string& name : nodes) context.add_members()->set_name(name);
  return context;
}

std::vector<AgentSite> SitesOf(const std::vector<std::string>& names) {
  std::vector<AgentSite> sites;
  for (const std::string& name : names) sites.emplace_back().name = name;
  return sites;
}

TEST(NodeChangesTest, ChangesAreNamed) {
  const v1::Context context = ContextOf({"a", "b", "c"});
  EXPECT_TRUE(ChangesTo(SitesOf({"c", "a", "b"}), context).empty());
  EXPECT_EQ(ChangesTo(SitesOf({"a", "d", "b", "e", "c"}), context).Text(),
            "add d, e");
  EXPECT_EQ(ChangesTo(SitesOf({"b"}), context).Text(), "remove a, c");
  EXPECT_EQ(ChangesTo(SitesOf({"b", "c", "d"}), context).Text(),
            "add d and remove a");
}

TEST(NodeChangesTest, AnAliasNamesTheSameNode) {
  v1::Context context = ContextOf({"a.example.org"});
  context.mutable_members(0)->add_aliases("a");
  std::vector<AgentSite> sites = SitesOf({"a"});
  EXPECT_TRUE(ChangesTo(sites, context).empty());
  sites[0].name = "b";
  sites[0].aliases = {"a.example.org"};
  EXPECT_TRUE(ChangesTo(sites, context).empty());
}

TEST(NodeChangesTest, ANewNodeKeepsItsSlots) {
  std::vector<AgentSite> sites = SitesOf({"a", "b"});
  sites[0].slots = 4;
  const NodeChanges changes = ChangesTo(sites, ContextOf({}));
  ASSERT_EQ(changes.to_add.size(), 2u);
  EXPECT_EQ(changes.to_add[0].slots, 4u);
  EXPECT_TRUE(changes.to_add[0].slots_given);
  EXPECT_FALSE(changes.to_add[1].slots_given);
}

}  // namespace
}  // namespace canopy::cli
