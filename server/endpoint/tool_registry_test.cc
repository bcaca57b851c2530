#include "server/endpoint/tool_registry.h"

#include <gtest/gtest.h>

namespace canopy::endpoint {
namespace {

TEST(ToolRegistryTest, AssignsNamesToToolsWithoutAName) {
  ToolRegistry tools({"canopy", 3}, 8);
  const Result<ProcId> first = tools.Admit({}, 7);
  const Result<ProcId> second = tools.Admit({}, 7);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(first->nspace.starts_with("canopy-tool3-")) << first->nspace;
  EXPECT_TRUE(first->nspace.ends_with("-1")) << first->nspace;
  EXPECT_EQ(first->rank, 0u);
  EXPECT_NE(second->nspace, first->nspace);
  // This is the registry of a later agent with the same name.
  ToolRegistry successor({"canopy", 3}, 8);
  const Result<ProcId> later = successor.Admit({}, 7);
  ASSERT_TRUE(later.ok());
  EXPECT_NE(later->nspace, first->nspace);
}

TEST(ToolRegistryTest, ANameBelongsToOneToolAtATime) {
  ToolRegistry tools({"canopy", 0}, 8);
  ASSERT_TRUE(tools.Admit({"mine", 4}, 7).ok());
  EXPECT_EQ(tools.Admit({"mine", 4}, 7).code(), kErrExists);
  EXPECT_TRUE(tools.Admit({"mine", 5}, 7).ok());
  tools.Leave({"mine", 4});
  EXPECT_TRUE(tools.Admit({"mine", 4}, 7).ok());
}

TEST(ToolRegistryTest, TheNumberOfToolsIsLimited) {
  ToolRegistry tools({"canopy", 0}, 1);
  const Result<ProcId> only = tools.Admit({}, 7);
  ASSERT_TRUE(only.ok());
  EXPECT_EQ(tools.Admit({}, 7).code(), kErrResourceBusy);
  tools.Leave(*only);
  EXPECT_TRUE(tools.Admit({}, 7).ok());
}

TEST(ToolRegistryTest, AUserGetsAtMostHalfOfTheTools) {
  ToolRegistry tools({"canopy", 0}, 16);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(tools.Admit({}, 7).ok());
  EXPECT_EQ(tools.Admit({}, 7).code(), kErrResourceBusy);
  EXPECT_TRUE(tools.Admit({}, 8).ok());
}

}  // namespace
}  // namespace canopy::endpoint
