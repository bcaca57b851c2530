#include "server/agent/bring_up/bootstrap_channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "protos/bootstrap.pb.h"

namespace canopy::agent {
namespace {

class BootstrapChannelTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(fds_), 0); }
  void TearDown() override {
    close(fds_[0]);
    if (fds_[1] >= 0) close(fds_[1]);
  }
  void CloseWriter() {
    close(fds_[1]);
    fds_[1] = -1;
  }
  int fds_[2];
};

TEST_F(BootstrapChannelTest, EachMessageIsReadAsItWasWritten) {
  BootstrapChannel channel(fds_[0], fds_[1]);
  bootstrap::v1::Hello sent;
  sent.mutable_node()->set_name("node1");
  ASSERT_TRUE(channel.Write(sent).ok());
  ASSERT_TRUE(channel.Write(bootstrap::v1::State()).ok());
  bootstrap::v1::Hello got;
  ASSERT_TRUE(channel.Read(&got).ok());
  EXPECT_EQ(got.node().name(), "node1");
  bootstrap::v1::State state;
  EXPECT_TRUE(channel.Read(&state).ok());
}

TEST_F(BootstrapChannelTest, EndOfInputAndMalformedInputAreErrors) {
  BootstrapChannel channel(fds_[0], fds_[1]);
  ASSERT_EQ(write(fds_[1], "GET / HTTP/1.1\r\n", 16), 16);
  bootstrap::v1::Hello got;
  EXPECT_EQ(channel.Read(&got).code(), kErrUnpackFailure);
  CloseWriter();
  BootstrapChannel ended(fds_[0], -1);
  EXPECT_EQ(ended.Read(&got).code(), kErrLostConnection);
}

}  // namespace
}  // namespace canopy::agent
