#include "client/session/stdin_push.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::client {
namespace {

// Records the pushed bytes in order; the end is "|".
class Pushed {
 public:
  StdinPush::Pusher Pusher(int status = kSuccess) {
    return [this, status](std::string bytes, bool complete,
                          std::function<void(int)> then) {
      {
        const MutexLock lock(mu_);
        text_ += bytes + (complete ? "|" : "");
        changed_.NotifyAll();
      }
      then(status);
    };
  }
  void Await(const std::string& text) {
    const MutexLock lock(mu_);
    while (text_ != text) changed_.Wait(mu_);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::string text_ CANOPY_GUARDED_BY(mu_);
};

class StdinPushTest : public testing::Test {
 protected:
  StdinPushTest() {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    read_.Reset(fds[0]);
    write_.Reset(fds[1]);
  }
  void Write(const std::string& text) {
    EXPECT_EQ(write(write_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }

  UniqueFd read_;
  UniqueFd write_;
  Pushed pushed_;
};

TEST_F(StdinPushTest, PushesTheInputAndItsEnd) {
  StdinPush push(read_.get());
  EXPECT_EQ(push.Start(pushed_.Pusher()), kSuccess);
  Write("one");
  pushed_.Await("one");
  EXPECT_EQ(push.Start(pushed_.Pusher()), kErrExists);
  Write("two");
  pushed_.Await("onetwo");
  write_.Reset();
  pushed_.Await("onetwo|");
}

TEST_F(StdinPushTest, NoInputIsPushedAfterStop) {
  StdinPush push(read_.get());
  EXPECT_EQ(push.Start(pushed_.Pusher()), kSuccess);
  Write("one");
  pushed_.Await("one");
  push.Stop();
  Write("two");
  EXPECT_EQ(push.Start(pushed_.Pusher()), kSuccess);
  pushed_.Await("onetwo");
}

TEST_F(StdinPushTest, EndIsPushedEvenIfThereIsMoreInput) {
  StdinPush push(read_.get());
  std::vector<int> ended;
  const auto then = [&ended](int status) { ended.push_back(status); };
  push.End(then);
  EXPECT_EQ(ended, (std::vector<int>{kSuccess}));
  EXPECT_EQ(push.Start(pushed_.Pusher()), kSuccess);
  Write("one");
  pushed_.Await("one");
  push.End(then);
  pushed_.Await("one|");
  push.End(then);
  EXPECT_EQ(ended, (std::vector<int>{kSuccess, kSuccess, kSuccess}));
  Write("two");
  EXPECT_EQ(push.Start(pushed_.Pusher()), kSuccess);
  pushed_.Await("one|two");
}

TEST_F(StdinPushTest, EndSucceedsIfTheJobHasEnded) {
  StdinPush push(read_.get());
  const auto over = [this](std::string bytes, bool complete,
                           std::function<void(int status)> then) {
    pushed_.Pusher()(std::move(bytes), complete, [](int) {});
    if (complete) then(kErrNotFound);
  };
  EXPECT_EQ(push.Start(over), kSuccess);
  Write("one");
  pushed_.Await("one");
  int ended = kErrBadParam;
  push.End([&ended](int status) { ended = status; });
  EXPECT_EQ(ended, kSuccess);
}

}  // namespace
}  // namespace canopy::client
