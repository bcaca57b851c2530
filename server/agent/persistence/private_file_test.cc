#include "server/agent/persistence/private_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy::agent {
namespace {

TEST(PrivateFileTest, AFileIsReadFromItsBeginning) {
  const std::string path = testing::TempDir() + "/private";
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  ASSERT_TRUE(WriteAll(fd.get(), "some"));
  ASSERT_TRUE(WriteAll(fd.get(), " text"));
  EXPECT_EQ(ReadPrivate(fd.get()), "some text");
  EXPECT_EQ(ReadPrivate(fd.get()), "some text");
}

TEST(PrivateFileTest, OnlyPrivateRegularFilesAreRead) {
  const std::string path = testing::TempDir() + "/shared";
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  ASSERT_EQ(fchmod(fd.get(), 0640), 0);
  EXPECT_FALSE(ReadPrivate(fd.get()).has_value());
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const UniqueFd reader(pipe_fds[0]);
  const UniqueFd writer(pipe_fds[1]);
  EXPECT_FALSE(ReadPrivate(reader.get()).has_value());
}

TEST(PrivateFileTest, AnErrorNamesTheFileAndTheCause) {
  const UniqueFd fd(open("/dev/null", O_RDONLY));
  EXPECT_FALSE(WriteAll(fd.get(), "text"));
  const Status status = CannotWrite("/a/file");
  EXPECT_EQ(status.code(), kErrJobSysOpFailed);
  EXPECT_NE(status.message().find("/a/file"), std::string::npos);
}

}  // namespace
}  // namespace canopy::agent
