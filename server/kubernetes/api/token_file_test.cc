#include "server/kubernetes/api/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace canopy::kubernetes {
namespace {

class TokenFileTest : public testing::Test {
 protected:
  ~TokenFileTest() override { unlink(path_.c_str()); }

  void Write(const std::string& text) { std::ofstream(path_) << text; }

  std::string path_ =
      testing::TempDir() + "/token_file_" + std::to_string(getpid());
};

TEST_F(TokenFileTest, ReadsTheFileAgainAfterAMinute) {
  Write("first\n");
  TokenFile file(path_);
  EXPECT_EQ(file.Token(5), "first");
  Write("second");
  EXPECT_EQ(file.Token(5 + TokenFile::kMaxAgeNs - 1), "first");
  EXPECT_EQ(file.Token(5 + TokenFile::kMaxAgeNs), "second");
}

TEST_F(TokenFileTest, ReadsTheFileAgainAfterARejection) {
  Write("first");
  TokenFile file(path_);
  EXPECT_EQ(file.Token(0), "first");
  EXPECT_FALSE(file.Renew("first", 1));
  Write("second");
  EXPECT_TRUE(file.Renew("first", 2));
  EXPECT_EQ(file.Token(2), "second");
  // Another request had sent the old token before.
  EXPECT_TRUE(file.Renew("first", 3));
  EXPECT_FALSE(file.Renew("second", 4));
}

TEST_F(TokenFileTest, KeepsTheTokenIfTheFileHasNone) {
  Write("first");
  TokenFile file(path_);
  EXPECT_EQ(file.Token(0), "first");
  for (const std::string& text :
       {std::string(), std::string("two words"), std::string("a\r\nHost: b"),
        std::string("\xc3\xa4"), std::string(1 << 20, 'x')}) {
    Write(text);
    EXPECT_FALSE(file.Renew("first", 1)) << text.substr(0, 20);
  }
  unlink(path_.c_str());
  EXPECT_FALSE(file.Renew("first", 1));
  EXPECT_EQ(file.Token(1), "first");
}

TEST_F(TokenFileTest, HasNoTokenWithoutAFile) {
  EXPECT_EQ(TokenFile("").Token(0), "");
  EXPECT_EQ(TokenFile(path_).Token(0), "");
  EXPECT_EQ(TokenFile(testing::TempDir()).Token(0), "");
}

TEST_F(TokenFileTest, DoesNotWaitForAPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(TokenFile(path_).Token(0), "");
}

}  // namespace
}  // namespace canopy::kubernetes
