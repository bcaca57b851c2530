#include "server/shim/stage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "common/posix/remove_tree.h"
#include "common/preload/archive.h"
#include "common/preload/preload_list.h"

namespace canopy::process {
namespace {

class StageTest : public testing::Test {
 protected:
  StageTest() {
    char name[] = "/tmp/canopy-stage-XXXXXX";
    top_ = mkdtemp(name);
  }
  ~StageTest() override { EXPECT_TRUE(RemoveTree(top_, 100).ok()); }

  std::string Path(const std::string& name) const { return top_ + "/" + name; }
  void Put(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name)) << content;
  }
  std::string Get(const std::string& name) const {
    std::ifstream in(Path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Runs the program in its own process, with the files "in", "out" and "err"
  // as streams.
  int Run(std::vector<std::string> args) const {
    args.insert(args.begin(), preload::kStageProgram);
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    const pid_t pid = fork();
    if (pid == 0) {
      setenv(preload::kJobDirectoryVariable, top_.c_str(), 1);
      dup2(open(Path("in").c_str(), O_RDONLY | O_CREAT, 0600), 0);
      dup2(open(Path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
      dup2(open(Path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      const int code = RunStage(static_cast<int>(argv.size()), argv.data());
      fflush(stderr);
      _exit(code);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
  }

  std::string top_;
};

TEST_F(StageTest, AWriterWritesTheFilesThatAReaderHasSent) {
  const std::string content(200000, 'x');
  Put("data", content);
  ASSERT_EQ(Run({"read", "files/d/data", Path("data"), "", "", "programs/0/sh",
                 "sh", "/bin", "/"}),
            0);
  Put("in", Get("out"));
  ASSERT_EQ(Run({"write"}), 0);
  EXPECT_EQ(Get("out"), "written\n");
  EXPECT_EQ(Get("files/d/data"), content);
  EXPECT_EQ(access(Path("programs/0/sh").c_str(), X_OK), 0);
}

TEST_F(StageTest, MissingFilesAreReportedInOneLine) {
  EXPECT_EQ(Run({"read", "files/x", Path("none"), "", ""}), 1);
  EXPECT_EQ(Get("out"), "");
  EXPECT_EQ(Get("err"), "file \"" + Path("none") +
                            "\" to preload: No such file or directory\n");
  EXPECT_EQ(Run({"read", "programs/0/x", Path("none"), "", ""}), 127);
  Put("plain", "x");
  EXPECT_EQ(Run({"read", "programs/0/x", Path("plain"), "", ""}), 126);
}

TEST_F(StageTest, AnArchiveThatEndsTooEarlyIsAnError) {
  Put("data", std::string(1000, 'x'));
  ASSERT_EQ(Run({"read", "files/x", Path("data"), "", ""}), 0);
  Put("in", Get("out").substr(0, 500));
  EXPECT_EQ(Run({"write"}), 1);
  EXPECT_EQ(Get("out"), "");
  EXPECT_EQ(Get("err"), "the files ended too early\n");
}

TEST_F(StageTest, UnknownArgumentsAreRefused) {
  EXPECT_EQ(Run({}), 1);
  EXPECT_EQ(Run({"read", "files/x"}), 1);
  EXPECT_EQ(Run({"remove"}), 1);
}

}  // namespace
}  // namespace canopy::process
