#include "client/cli/run/launcher_contact.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "common/posix/host_name.h"
#include "common/posix/unique_fd.h"

namespace canopy::cli {
namespace {

class LauncherContactTest : public testing::Test {
 protected:
  LauncherContactTest() {
    EXPECT_NE(mkdtemp(place_), nullptr);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    terminations_ = UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    reader_ = UniqueFd(ends[0]);
    writer_ = UniqueFd(ends[1]);
  }
  ~LauncherContactTest() override { std::filesystem::remove_all(place_); }

  std::string At(const std::string& name) const {
    return std::string(place_) + "/" + name;
  }
  bool WasTerminated() {
    signalfd_siginfo info;
    return read(terminations_.get(), &info, sizeof info) == sizeof info;
  }

  char place_[32] = "/tmp/canopy-contact-XXXXXX";
  UniqueFd terminations_;
  UniqueFd reader_;
  UniqueFd writer_;
};

TEST_F(LauncherContactTest, TheEndOfThePipeEndsTheLauncher) {
  setenv("PMIX_KEEPALIVE_PIPE", std::to_string(reader_.get()).c_str(), 1);
  LauncherContact contact;
  EXPECT_EQ(getenv("PMIX_KEEPALIVE_PIPE"), nullptr);
  ASSERT_TRUE(contact.Watch().ok());
  EXPECT_FALSE(WasTerminated());
  writer_ = UniqueFd();
  EXPECT_TRUE(WasTerminated());
}

TEST_F(LauncherContactTest, AToolThatHasAlreadyEndedEndsTheLauncher) {
  setenv("PMIX_KEEPALIVE_PIPE", std::to_string(reader_.get()).c_str(), 1);
  LauncherContact contact;
  writer_ = UniqueFd();
  ASSERT_TRUE(contact.Watch().ok());
  EXPECT_TRUE(WasTerminated());
}

TEST_F(LauncherContactTest, RefusesADescriptorThatIsNotAPipe) {
  for (const char* text : {"rubbish", "-1", "999999", "1x"}) {
    setenv("PMIX_KEEPALIVE_PIPE", text, 1);
    LauncherContact contact;
    EXPECT_EQ(contact.Watch().code(), kErrBadParam) << text;
  }
  LauncherContact nothing;
  EXPECT_TRUE(nothing.Watch().ok());
  EXPECT_TRUE(nothing.Tell({}).ok());
}

TEST_F(LauncherContactTest, TheFileDescribesTheAgentAndIsRemoved) {
  const std::string path = At("told");
  setenv("PMIX_LAUNCHER_RNDZ_FILE", path.c_str(), 1);
  std::filesystem::create_directory(At("here"));
  std::ofstream(At("here/pmix." + LocalHostName() + ".tool"))
      << "the-uri\nv4.2.2\n1\n0:0\nnow\ncanopy:/a/socket\n";
  {
    LauncherContact contact;
    EXPECT_EQ(getenv("PMIX_LAUNCHER_RNDZ_FILE"), nullptr);
    EXPECT_EQ(contact.Tell({"/elsewhere"}).code(), kErrNotFound);
    const Status told = contact.Tell({"/elsewhere", At("here")});
    ASSERT_TRUE(told.ok()) << told.message();
    std::ifstream in(path);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    EXPECT_TRUE(content.starts_with("the-uri\n")) << content;
    EXPECT_TRUE(content.ends_with("canopy:/a/socket\n")) << content;
    EXPECT_EQ(contact.Tell({At("here")}).code(), kErrExists);
    contact.AwaitTool();  // no pipe
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace canopy::cli
