#include "client/tool/tool_options.h"

#include <gtest/gtest.h>

#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

int Parse(const InfoList& infos, ToolOptions* out) {
  return ParseToolOptions("PMIx_tool_init", infos.data(), infos.size(), out);
}

TEST(ToolOptionsTest, WithoutDirectivesAToolLooksForAServer) {
  ToolOptions options;
  EXPECT_EQ(ParseToolOptions("PMIx_tool_init", nullptr, 0, &options),
            PMIX_SUCCESS);
  EXPECT_TRUE(options.connects);
  EXPECT_FALSE(options.optional);
  EXPECT_FALSE(options.server.explicit_choice());
  EXPECT_TRUE(options.name.nspace.empty());
  EXPECT_EQ(options.name.rank, 0u);
  EXPECT_EQ(ParseToolOptions("PMIx_tool_init", nullptr, 1, &options),
            PMIX_ERR_BAD_PARAM);
}

TEST(ToolOptionsTest, EveryDirectiveIsRead) {
  InfoList infos;
  infos.Add(PMIX_TOOL_NSPACE, Value::String("mine"));
  infos.Add(PMIX_TOOL_RANK, Value::Uint32(3));
  infos.Add(PMIX_TOOL_CONNECT_OPTIONAL, Value::Bool(true));
  infos.Add(PMIX_CONNECT_MAX_RETRIES, Value::Uint32(4));
  infos.Add(PMIX_CONNECT_RETRY_DELAY, Value::Uint32(5));
  infos.Add(PMIX_SERVER_TMPDIR, Value::String("/servers"));
  infos.Add(PMIX_SYSTEM_TMPDIR, Value::String("/system"));
  infos.Add(PMIX_CONNECT_SYSTEM_FIRST, Value::Bool(true));
  infos.Add(PMIX_PRIMARY_SERVER, Value::Bool(true));
  infos.Add(PMIX_SERVER_HOSTNAME, Value::String("here"));
  infos.Add(PMIX_EXTERNAL_PROGRESS, Value::Bool(true));
  ToolOptions options;
  ASSERT_EQ(Parse(infos, &options), PMIX_SUCCESS);
  EXPECT_EQ(options.name, (ProcId{"mine", 3}));
  EXPECT_TRUE(options.optional);
  EXPECT_EQ(options.retries, 4u);
  EXPECT_EQ(options.delay_s, 5u);
  EXPECT_EQ(options.server.server_tmpdir, "/servers");
  EXPECT_EQ(options.server.system_tmpdir, "/system");
  EXPECT_TRUE(options.server.system_first);
  EXPECT_TRUE(options.primary);
  EXPECT_EQ(options.server.host, "here");
  EXPECT_FALSE(options.server.explicit_choice());
  EXPECT_EQ(options.init.external_progress, true);
}

TEST(ToolOptionsTest, TheRendezvousFileOfALauncherIsRefused) {
  InfoList infos;
  infos.Add(PMIX_LAUNCHER_RENDEZVOUS_FILE, Value::String("/a/file"));
  ToolOptions options;
  EXPECT_EQ(Parse(infos, &options), PMIX_ERR_NOT_SUPPORTED);
}

TEST(ToolOptionsTest, EachDirectiveThatNamesAServerIsAnExplicitChoice) {
  for (const char* key :
       {PMIX_TOOL_ATTACHMENT_FILE, PMIX_SERVER_URI, PMIX_SERVER_NSPACE}) {
    InfoList infos;
    infos.Add(key, Value::String("it"));
    ToolOptions options;
    ASSERT_EQ(Parse(infos, &options), PMIX_SUCCESS) << key;
    EXPECT_TRUE(options.server.explicit_choice()) << key;
  }
  InfoList infos;
  infos.Add(PMIX_CONNECT_TO_SYSTEM, Value::Bool(true));
  ToolOptions options;
  ASSERT_EQ(Parse(infos, &options), PMIX_SUCCESS);
  EXPECT_TRUE(options.server.system);
}

TEST(ToolOptionsTest, ATcpUriIsReadAsTheUriOfAServer) {
  InfoList infos;
  infos.Add(PMIX_TCP_URI, Value::String("x.0;tcp4://127.0.0.1:1"));
  ToolOptions options;
  ASSERT_EQ(Parse(infos, &options), PMIX_SUCCESS);
  EXPECT_EQ(options.server.uri, "x.0;tcp4://127.0.0.1:1");
  EXPECT_TRUE(options.server.tcp);
}

TEST(ToolOptionsTest, MalformedAndContradictoryDirectivesAreRejected) {
  for (const char* key : {PMIX_TOOL_NSPACE, PMIX_SERVER_URI, PMIX_SERVER_NSPACE,
                          PMIX_TOOL_ATTACHMENT_FILE, PMIX_TCP_URI}) {
    InfoList infos;
    infos.Add(key, Value::Uint32(1));
    ToolOptions options;
    EXPECT_EQ(Parse(infos, &options), PMIX_ERR_BAD_PARAM) << key;
  }
  InfoList infos;
  infos.Add(PMIX_TCP_URI, Value::String("x.0;tcp4://127.0.0.1:1"));
  ToolOptions options;
  infos.Add(PMIX_SERVER_URI, Value::String("x.0;tcp4://127.0.0.1:1"));
  EXPECT_EQ(Parse(infos, &options), PMIX_ERR_BAD_PARAM);
}

}  // namespace
}  // namespace canopy::client
