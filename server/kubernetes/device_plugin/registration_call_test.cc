#include "server/kubernetes/device_plugin/registration_call.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "common/posix/unix_socket.h"

namespace canopy::kubernetes {
namespace {

using std::chrono::steady_clock;

class RegistrationCallTest : public testing::Test {
 protected:
  RegistrationCallTest() {
    std::string path = "/tmp/registration-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    request_ = {path + "/kubelet.sock", "canopy.sock", "canopy.dev/rank"};
  }
  ~RegistrationCallTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<RegistrationCall> Begin() {
    return std::make_unique<RegistrationCall>(
        &loop_, request_, [this](const Status& status) { end_ = status; });
  }
  int AwaitEnd() {
    const auto limit = steady_clock::now() + std::chrono::seconds(30);
    while (!end_ && steady_clock::now() < limit) loop_.RunOnce(100);
    return end_ ? end_->code() : 0;
  }

  EventLoop loop_;
  std::string directory_;
  RegistrationRequest request_;
  std::optional<Status> end_;
};

TEST_F(RegistrationCallTest, KubeletThatIsNotThereIsReportedWithoutAWait) {
  request_.deadline_ms = 60000;
  const auto call = Begin();
  EXPECT_EQ(AwaitEnd(), kErrUnreach);
}

TEST_F(RegistrationCallTest, SocketThatWasLeftBehindIsReported) {
  { ASSERT_TRUE(ListenUnix(request_.kubelet_socket, 1).ok()); }
  const auto call = Begin();
  EXPECT_EQ(AwaitEnd(), kErrUnreach);
}

TEST_F(RegistrationCallTest, SilentKubeletIsReportedAtTheDeadline) {
  const auto listener = ListenUnix(request_.kubelet_socket, 1);
  ASSERT_TRUE(listener.ok());
  request_.deadline_ms = 200;
  const auto call = Begin();
  EXPECT_EQ(AwaitEnd(), kErrTimeout);
}

TEST_F(RegistrationCallTest, DestroyedCallEndsAtOnceAndReportsNothing) {
  const auto listener = ListenUnix(request_.kubelet_socket, 1);
  ASSERT_TRUE(listener.ok());
  request_.deadline_ms = 60000;
  const auto begin = steady_clock::now();
  Begin().reset();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(30));
  loop_.RunOnce(0);
  EXPECT_FALSE(end_);
}

TEST_F(RegistrationCallTest, ReportMayDestroyTheCall) {
  std::unique_ptr<RegistrationCall> call;
  call = std::make_unique<RegistrationCall>(&loop_, request_,
                                            [&](const Status& status) {
                                              end_ = status;
                                              call.reset();
                                            });
  EXPECT_EQ(AwaitEnd(), kErrUnreach);
  EXPECT_EQ(call, nullptr);
}

}  // namespace
}  // namespace canopy::kubernetes
