#include "common/support/attribute_support.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "client/include/pmix_tables.h"
#include "common/values/info_list.h"
#include "pmix_common.h"

namespace canopy::support {
namespace {

bool Has(const std::vector<Attribute>& attributes, std::string_view name) {
  return std::ranges::count(attributes, name, &Attribute::name) == 1;
}

TEST(AttributeSupportTest, TheKeysOfAQueryDetermineTheLevels) {
  EXPECT_EQ(LevelsOf({}).attributes.size(), 4u);
  EXPECT_TRUE(LevelsOf({}).functions.empty());
  const std::string keys[] = {PMIX_HOST_ATTRIBUTES, PMIX_TOOL_FUNCTIONS, "k"};
  const Levels levels = LevelsOf(keys);
  EXPECT_EQ(levels.attributes, std::vector{Level::kHost});
  EXPECT_EQ(levels.functions, std::vector{Level::kTool});
}

TEST(AttributeSupportTest, EachLevelListsItsOwnAttributes) {
  const auto client = AttributesAt("PMIx_Get", Level::kClient);
  EXPECT_TRUE(Has(client, "PMIX_OPTIONAL"));
  EXPECT_FALSE(Has(client, "PMIX_TIMEOUT"));
  const auto host = AttributesAt("PMIx_Get", Level::kHost);
  EXPECT_TRUE(Has(host, "PMIX_TIMEOUT"));
  EXPECT_FALSE(Has(host, "PMIX_OPTIONAL"));
  EXPECT_EQ(host[0].key, PMIX_TIMEOUT);
  EXPECT_EQ(host[0].type, PMIX_INT);
  EXPECT_FALSE(host[0].description.empty());
}

TEST(AttributeSupportTest, OnlyHonouredAttributesAreListed) {
  EXPECT_TRUE(AttributesAt("PMIx_Get_no_such", Level::kClient).empty());
  EXPECT_FALSE(
      Has(AttributesAt("PMIx_Spawn", Level::kHost), "PMIX_ALLOC_QUEUE"));
  EXPECT_TRUE(Has(AttributesAt("PMIx_Spawn", Level::kHost), "PMIX_MAPBY"));
  const auto init = AttributesAt("PMIx_server_init", Level::kServer);
  EXPECT_TRUE(Has(init, "PMIX_SERVER_TMPDIR"));
  EXPECT_FALSE(Has(init, "PMIX_SERVER_SCHEDULER"));
  const auto setup =
      AttributesAt("PMIx_server_setup_application", Level::kServer);
  EXPECT_TRUE(Has(setup, "PMIX_SETUP_APP_ENVARS"));
  EXPECT_FALSE(Has(setup, "PMIX_ALLOC_FABRIC"));
  const auto tool = AttributesAt("PMIx_tool_init", Level::kTool);
  EXPECT_TRUE(Has(tool, "PMIX_SERVER_URI"));
  EXPECT_TRUE(Has(tool, "PMIX_TCP_URI"));
  EXPECT_FALSE(Has(tool, "PMIX_TCP_IF_INCLUDE"));
  const auto control = AttributesAt("PMIx_Job_control", Level::kHost);
  EXPECT_TRUE(Has(control, "PMIX_JOB_CTRL_PAUSE"));
  EXPECT_FALSE(Has(control, "PMIX_JOB_CTRL_CHECKPOINT"));
}

TEST(AttributeSupportTest, ASchedulersAttributesAreListedWithAScheduler) {
  const std::string keys[] = {PMIX_HOST_FUNCTIONS};
  for (const bool has : {false, true}) {
    const Scheduler scheduler{has, has};
    EXPECT_EQ(Has(AttributesAt("PMIx_Spawn", Level::kHost, scheduler),
                  "PMIX_ALLOC_QUEUE"),
              has);
    EXPECT_EQ(AttributesAt("PMIx_Allocation_request", Level::kHost, scheduler)
                  .empty(),
              !has);
    const std::string functions =
        Functions(LevelsOf(keys), scheduler).at(0).second;
    EXPECT_EQ(functions.find("PMIx_Allocation_request") != std::string::npos,
              has);
    EXPECT_NE(functions.find("PMIx_Spawn"), std::string::npos);
    EXPECT_EQ(
        SpawnAttributes(scheduler).find(PMIX_ALLOC_QUEUE) != std::string::npos,
        has);
  }
}

TEST(AttributeSupportTest, FunctionsAreListedByLevel) {
  const std::string keys[] = {PMIX_CLIENT_FUNCTIONS};
  const auto lists = Functions(LevelsOf(keys));
  ASSERT_EQ(lists.size(), 1u);
  EXPECT_EQ(lists[0].first, PMIX_CLIENT_FUNCTIONS);
  EXPECT_NE(lists[0].second.find("PMIx_Query_info,"), std::string::npos);
  EXPECT_EQ(lists[0].second.find("PMIx_server_register_nspace"),
            std::string::npos);
}

TEST(AttributeSupportTest, AnAnswerHasAnArrayForEachLevel) {
  const Value value = AttributesOf("PMIx_Get", LevelsOf({}));
  const auto infos = value.AsInfos();
  ASSERT_TRUE(infos.has_value());
  const pmix_info_t* client = FindInfo(*infos, PMIX_CLIENT_ATTRIBUTES);
  ASSERT_NE(client, nullptr);
  ASSERT_EQ(client->value.type, PMIX_DATA_ARRAY);
  const pmix_data_array_t& array = *client->value.data.darray;
  ASSERT_EQ(array.type, PMIX_REGATTR);
  const auto* first = static_cast<const pmix_regattr_t*>(array.array);
  EXPECT_NE(FindAttributeByName(first->name), nullptr);
  EXPECT_NE(FindInfo(*infos, PMIX_HOST_ATTRIBUTES), nullptr);
  EXPECT_TRUE(AttributesOf("PMIx_Unknown", LevelsOf({})).empty());
}

// Chapter "Tools and Debuggers": the attributes by which a debugger decides
// what to request.
TEST(AttributeSupportTest, AttributesThatDebuggersNeedAreListed) {
  EXPECT_TRUE(Has(AttributesAt("PMIx_Init", Level::kClient),
                  "PMIX_DEBUG_STOP_IN_INIT"));
  for (const char* function : {"PMIx_Spawn", "PMIx_Spawn_nb"}) {
    const auto host = AttributesAt(function, Level::kHost);
    for (const char* name :
         {"PMIX_DEBUG_STOP_ON_EXEC", "PMIX_DEBUG_STOP_IN_INIT",
          "PMIX_DEBUG_STOP_IN_APP", "PMIX_DEBUGGER_DAEMONS",
          "PMIX_DEBUG_TARGET", "PMIX_DEBUG_DAEMONS_PER_PROC",
          "PMIX_DEBUG_DAEMONS_PER_NODE", "PMIX_FWD_STDOUT", "PMIX_EXEC_AGENT",
          "PMIX_FORKEXEC_AGENT", "PMIX_IOF_XML_OUTPUT", "PMIX_NOHUP",
          "PMIX_SPAWN_CHILD_SEP", "PMIX_TIMEOUT"}) {
      EXPECT_TRUE(Has(host, name)) << function << " " << name;
    }
    EXPECT_FALSE(Has(host, "PMIX_LAUNCHER_DAEMON"));
    EXPECT_FALSE(Has(host, "PMIX_IOF_BUFFERING_SIZE"));
  }
}

TEST(AttributeSupportTest, SpawnAndDebugAttributesAreListsOfKeys) {
  EXPECT_NE(SpawnAttributes().find(PMIX_MAPBY), std::string::npos);
  const std::string debug = "," + DebugAttributes() + ",";
  for (const std::string key :
       {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE,
        PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT,
        PMIX_DEBUG_STOP_IN_APP, PMIX_DEBUGGER_DAEMONS, PMIX_DEBUG_TARGET,
        PMIX_DEBUG_DAEMONS_PER_PROC, PMIX_DEBUG_DAEMONS_PER_NODE,
        PMIX_COSPAWN_APP}) {
    EXPECT_NE(debug.find("," + key + ","), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace canopy::support
