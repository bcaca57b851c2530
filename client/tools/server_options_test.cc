#include "client/tools/server_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace canopy::tools {
namespace {

Status Apply(const std::vector<std::string>& args, ServerOptions* to) {
  return cli::ApplyOptions(ServerOptionTable(to), args, cli::RestRule::kBetween)
      .status();
}

TEST(ServerOptionsTest, AcceptsTheSpellingsOfTheReferenceTools) {
  ServerOptions to;
  ASSERT_TRUE(Apply({"--uri", "file:/u", "--nspace", "n", "--pid", "17",
                     "--system-server-first", "--system-server-only",
                     "--tmpdir=/t", "--wait-to-connect", "2",
                     "--num-connect-retries", "3", "-v", "--do-not-connect"},
                    &to)
                  .ok());
  EXPECT_EQ(to.uri, "file:/u");
  EXPECT_EQ(to.nspace, "n");
  EXPECT_EQ(to.pid, 17u);
  EXPECT_TRUE(to.system_first && to.only_system && to.no_server);
  EXPECT_EQ(to.directory, "/t");
  EXPECT_EQ(to.delay_s, 2u);
  EXPECT_EQ(to.retries, 3u);
  EXPECT_TRUE(to.verbose);
}

TEST(ServerOptionsTest, APidIsReadFromAFile) {
  const char* const directory = std::getenv("TEST_TMPDIR");
  const std::string path =
      std::string(directory == nullptr ? "/tmp" : directory) + "/pid";
  std::ofstream(path) << "4711\n";
  ServerOptions to;
  ASSERT_TRUE(Apply({"--pid", "file:" + path}, &to).ok());
  EXPECT_EQ(to.pid, 4711u);
  EXPECT_FALSE(Apply({"--pid", "file:" + path + ".not"}, &to).ok());
  EXPECT_FALSE(Apply({"--pid", "x"}, &to).ok());
}

TEST(ServerOptionsTest, OptionsWithoutEffectAreRefused) {
  ServerOptions to;
  EXPECT_EQ(Apply({"--scheduler"}, &to).code(), kErrNotSupported);
  EXPECT_EQ(Apply({"--pmixmca", "a", "b"}, &to).code(), kErrNotSupported);
  EXPECT_EQ(Apply({"--no-such"}, &to).code(), kErrBadParam);
}

}  // namespace
}  // namespace canopy::tools
