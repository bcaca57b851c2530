#include "server/endpoint/tool_registry.h"

#include <gtest/gtest.h>

namespace canopy::endpoint {
namespace {

TEST(ToolRegistryTest, NamesToolsThatHaveNoName) {
  ToolRegistry tools({"canopy", 3}, 8);
  const Result<ProcId> first = tools.Admit({});
  const Result<ProcId> second = tools.Admit({});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(first->nspace.starts_with("canopy-tool3-")) << first->nspace;
  EXPECT_TRUE(first->nspace.ends_with("-1")) << first->nspace;
  EXPECT_EQ(first->rank, 0u);
  EXPECT_NE(second->nspace, first->nspace);
  // The registry of a later agent with the same name.
  ToolRegistry successor({"canopy", 3}, 8);
  const Result<ProcId> later = successor.Admit({});
  ASSERT_TRUE(later.ok());
  EXPECT_NE(later->nspace, first->nspace);
}

TEST(ToolRegistryTest, ANameIsOneToolsAtATime) {
  ToolRegistry tools({"canopy", 0}, 8);
  ASSERT_TRUE(tools.Admit({"mine", 4}).ok());
  EXPECT_EQ(tools.Admit({"mine", 4}).code(), kErrExists);
  EXPECT_TRUE(tools.Admit({"mine", 5}).ok());
  tools.Leave({"mine", 4});
  EXPECT_TRUE(tools.Admit({"mine", 4}).ok());
}

TEST(ToolRegistryTest, IsBounded) {
  ToolRegistry tools({"canopy", 0}, 1);
  const Result<ProcId> only = tools.Admit({});
  ASSERT_TRUE(only.ok());
  EXPECT_EQ(tools.Admit({}).code(), kErrResourceBusy);
  tools.Leave(*only);
  EXPECT_TRUE(tools.Admit({}).ok());
}

}  // namespace
}  // namespace canopy::endpoint
