#include "client/abi/server_options.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

Result<ServerDirectives> Read(const InfoList& infos) {
  return ReadServerDirectives(infos.data(), infos.size());
}

TEST(ServerOptions, EveryDirectiveOfAHostIsRead) {
  const auto read =
      Read({{PMIX_SERVER_NSPACE, Value::String("daemons")},
            {PMIX_SERVER_RANK, Value::Rank(3)},
            {PMIX_SERVER_TMPDIR, Value::String("/somewhere")},
            {PMIX_SYSTEM_TMPDIR, Value::String("/elsewhere")},
            {PMIX_HOSTNAME, Value::String("n1")},
            {PMIX_NODEID, Value::Uint32(7)},
            {PMIX_SERVER_TOOL_SUPPORT, Value::Bool(true)},
            {PMIX_SERVER_SYSTEM_SUPPORT, Value::Bool(true)},
            {PMIX_IOF_LOCAL_OUTPUT, Value::Bool(true)},
            {PMIX_LAUNCHER_RENDEZVOUS_FILE, Value::String("/the/file")}});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->self, (ProcId{"daemons", 3}));
  EXPECT_EQ(read->tmpdir, "/somewhere");
  EXPECT_EQ(read->system_tmpdir, "/elsewhere");
  EXPECT_EQ(read->node_names.front(), "n1");
  EXPECT_EQ(read->node_names.size(), 2u);
  EXPECT_EQ(read->node_id, 7u);
  EXPECT_TRUE(read->tools);
  EXPECT_TRUE(read->system);
  EXPECT_TRUE(read->local_output);
  EXPECT_EQ(read->rendezvous_file, "/the/file");
}

TEST(ServerOptions, EveryDirectiveHasADefault) {
  const auto read = Read({});
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->self.nspace.empty());
  EXPECT_EQ(read->self.rank, 0u);
  EXPECT_EQ(read->node_names.size(), 1u);
  EXPECT_FALSE(read->node_id.has_value());
  EXPECT_FALSE(read->tools);
  EXPECT_FALSE(read->system);
  EXPECT_FALSE(read->local_output);
  EXPECT_EQ(read->rendezvous_file, "");
}

TEST(ServerOptions, MalformedDirectivesAreRefused) {
  EXPECT_EQ(Read({{PMIX_SERVER_NSPACE, Value::Int(1)}}).code(), kErrBadParam);
  EXPECT_EQ(
      Read({{PMIX_SERVER_NSPACE, Value::String(std::string(256, 'x'))}}).code(),
      kErrBadParam);
  EXPECT_EQ(Read({{PMIX_SERVER_RANK, Value::String("x")}}).code(),
            kErrBadParam);
  EXPECT_EQ(ReadServerDirectives(nullptr, 1).code(), kErrBadParam);
}

TEST(ServerOptions, UnsupportedRequiredDirectivesAreRefused) {
  InfoList infos;
  infos.Add(PMIX_SERVER_GATEWAY, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Read(infos).code(), kErrNotSupported);
  InfoList optional;
  optional.Add(PMIX_SERVER_GATEWAY, Value::Bool(true));
  EXPECT_TRUE(Read(optional).ok());
}

TEST(ServerOptions, DirectivesWithoutEffectAreRefusedOrReported) {
  for (const char* key :
       {PMIX_USOCK_DISABLE, PMIX_SINGLE_LISTENER, PMIX_HOMOGENEOUS_SYSTEM,
        PMIX_SERVER_SESSION_SUPPORT, PMIX_SERVER_SCHEDULER,
        PMIX_EXTERNAL_PROGRESS, PMIX_SERVER_SHARE_TOPOLOGY,
        PMIX_SERVER_REMOTE_CONNECTIONS, PMIX_TCP_DISABLE_IPV4}) {
    support::IgnoredDirectives::OfProcess().End();
    std::vector<std::string> reported;
    support::IgnoredDirectives::OfProcess().SetReport(
        [&](std::string_view, std::string_view name) {
          reported.emplace_back(name);
        });
    InfoList required;
    required.Add(key, Value::Bool(true), PMIX_INFO_REQD);
    EXPECT_EQ(Read(required).code(), kErrNotSupported) << key;
    EXPECT_TRUE(Read({{key, Value::Bool(true)}}).ok());
    EXPECT_TRUE(Read({{key, Value::Bool(true)}}).ok());
    EXPECT_EQ(reported, std::vector<std::string>{key});
    // A flag that is false requests nothing.
    InfoList declined;
    declined.Add(key, Value::Bool(false), PMIX_INFO_REQD);
    EXPECT_TRUE(Read(declined).ok()) << key;
    support::IgnoredDirectives::OfProcess().End();
  }
}

}  // namespace
}  // namespace canopy::client
