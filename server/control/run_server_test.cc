#include "server/control/run_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/message_stream.h"
#include "common/posix/unix_socket.h"
#include "common/run_protocol.h"

namespace canopy::control {
namespace {

class FakeOwner : public LauncherListener {
 public:
  uint64_t NewLauncher() override { return ++last_; }
  bool Leads() const override { return leads; }
  void OnLauncher(uint64_t id, LauncherStream* launcher,
                  const Caller&) override {
    launchers[id] = launcher;
  }
  void OnRequest(uint64_t id, v1::RunRequest request) override {
    requests.push_back(std::move(request));
    if (on_request) on_request(launchers.at(id));
  }
  void OnGone(uint64_t id) override {
    EXPECT_EQ(launchers.erase(id), 1u);
    idle = launchers.empty();
  }

  std::map<uint64_t, LauncherStream*> launchers;
  std::vector<v1::RunRequest> requests;
  std::function<void(LauncherStream*)> on_request;
  bool idle = false;  // all launchers are gone
  bool leads = true;

 private:
  uint64_t last_ = 0;
};

// A launcher whose part the test plays.
class TestLauncher {
 public:
  explicit TestLauncher(const std::string& path) {
    Result<UniqueFd> socket = ConnectUnix(path);
    if (socket.ok()) socket_ = *std::move(socket);
    const timeval limit = {60, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  void SendBytes(const std::string& bytes) {
    size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t n = send(socket_.get(), bytes.data() + at,
                             bytes.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }
  void Send(const v1::RunRequest& request) { SendBytes(FrameMessage(request)); }
  // Receives the next message. Returns false at the end of the connection.
  bool Receive(std::string* message) {
    std::string_view bytes;
    while (reader_.Take(&bytes) != MessageReader::Next::kMessage) {
      char buffer[4096];
      const ssize_t n = recv(socket_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) return false;
      reader_.Append({buffer, static_cast<size_t>(n)});
    }
    *message = bytes;
    return true;
  }
  void Leave() { socket_.Reset(); }

 private:
  UniqueFd socket_;
  MessageReader reader_{kMaxRunMessage};
};

class RunServerTest : public testing::Test {
 protected:
  RunServerTest() {
    char path[] = "/tmp/run-test-XXXXXX";
    directory_ = mkdtemp(path);
    path_ = RunSocketBeside(directory_ + "/control.sock");
    server_ = std::make_unique<RunServer>(&loop_, &owner_);
    EXPECT_TRUE(server_->Start(path_).ok());
  }
  ~RunServerTest() override {
    server_.reset();
    EXPECT_EQ(rmdir(directory_.c_str()), 0);
  }

  // Runs the loop until every launcher is gone, while `play` uses one on
  // another thread.
  void With(const std::function<void(TestLauncher*)>& play) {
    std::thread thread([&] {
      TestLauncher launcher(path_);
      std::string greeting = "?";
      EXPECT_TRUE(launcher.Receive(&greeting));
      EXPECT_EQ(greeting, greeting_);
      play(&launcher);
    });
    owner_.idle = false;
    while (!owner_.idle) loop_.RunOnce(-1);
    thread.join();
  }

  std::string greeting_;
  EventLoop loop_;
  FakeOwner owner_;
  std::string directory_;
  std::string path_;
  std::unique_ptr<RunServer> server_;
};

v1::RunRequest Launch() {
  v1::RunRequest request;
  request.mutable_launch()->set_request("\xff\x80");
  return request;
}

TEST_F(RunServerTest, OnlyTheServersUserMayConnect) {
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
}

TEST_F(RunServerTest, AnAgentThatIsNotTheLeaderGreetsDifferently) {
  owner_.leads = false;
  greeting_ = kGreetingElsewhere;
  With([](TestLauncher*) {});
}

TEST_F(RunServerTest, EventsArriveBeforeTheEnd) {
  owner_.on_request = [](LauncherStream* launcher) {
    for (uint64_t i = 0; i < 100; ++i) {
      v1::RunEvent event;
      event.set_input_consumed(i);
      launcher->Send(std::move(event));
    }
    launcher->FinishWhenWritten();
  };
  With([](TestLauncher* launcher) {
    launcher->Send(Launch());
    std::string message;
    for (uint64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(launcher->Receive(&message));
      v1::RunEvent event;
      EXPECT_TRUE(event.ParseFromString(message));
      EXPECT_EQ(event.input_consumed(), i);
    }
    EXPECT_FALSE(launcher->Receive(&message));
  });
  ASSERT_EQ(owner_.requests.size(), 1u);
  EXPECT_EQ(owner_.requests[0].launch().request(), "\xff\x80");
}

TEST_F(RunServerTest, EventsMayExceedTheSocketsBuffer) {
  static constexpr size_t kSize = 3u << 20;
  owner_.on_request = [](LauncherStream* launcher) {
    v1::RunEvent event;
    event.mutable_output()->set_data(std::string(kSize, 'o'));
    launcher->Send(std::move(event));
    launcher->FinishWhenWritten();
  };
  With([](TestLauncher* launcher) {
    v1::RunRequest request;
    request.mutable_input()->set_data(std::string(kSize, 'i'));
    launcher->Send(request);
    std::string message;
    ASSERT_TRUE(launcher->Receive(&message));
    EXPECT_GT(message.size(), kSize);
    EXPECT_FALSE(launcher->Receive(&message));
  });
  ASSERT_EQ(owner_.requests.size(), 1u);
  EXPECT_EQ(owner_.requests[0].input().data().size(), kSize);
}

TEST_F(RunServerTest, ReadsRequestsInPiecesOrTogether) {
  With([](TestLauncher* launcher) {
    std::string message;
    v1::RunRequest request;
    request.set_consumed(1);
    launcher->Send(request);
    std::string frames = {0, 0, 0, 2, 0x20, 2, 0, 0, 0, 2, 0x20, 3, 0};
    for (const char c : frames) launcher->SendBytes(std::string(1, c));
  });
  ASSERT_EQ(owner_.requests.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(owner_.requests[i].consumed(), i + 1);
  }
}

TEST_F(RunServerTest, AnInvalidRequestEndsTheConnection) {
  for (const std::string& bytes :
       {std::string("\0\0\0\2\x20", 5) + "\xff",  // an unterminated number
        std::string("PRI * HTTP/2.0"),            // too long
        std::string("\0\0\0\6\x0a\x04\xd2\x01\x01\xff", 10)}) {  // not UTF-8
    With([&](TestLauncher* launcher) {
      launcher->SendBytes(bytes);
      std::string message;
      EXPECT_FALSE(launcher->Receive(&message));
    });
  }
  EXPECT_TRUE(owner_.requests.empty());
}

TEST_F(RunServerTest, EventsGoToTheirOwnLauncher) {
  std::vector<LauncherStream*> launched;
  owner_.on_request = [&](LauncherStream* launcher) {
    launched.push_back(launcher);
    if (launched.size() < 2) return;
    for (uint64_t i = 0; i < 2; ++i) {
      v1::RunEvent event;
      event.set_input_consumed(i);
      launched[i]->Send(std::move(event));
      launched[i]->FinishWhenWritten();
    }
  };
  With([&](TestLauncher* first) {
    TestLauncher second(path_);
    std::string message;
    EXPECT_TRUE(second.Receive(&message));
    first->Send(Launch());
    second.Send(Launch());
    v1::RunEvent events[2];
    ASSERT_TRUE(first->Receive(&message) && events[0].ParseFromString(message));
    ASSERT_TRUE(second.Receive(&message) && events[1].ParseFromString(message));
    EXPECT_EQ(events[0].input_consumed() + events[1].input_consumed(), 1u);
    EXPECT_FALSE(first->Receive(&message));
    EXPECT_FALSE(second.Receive(&message));
  });
}

}  // namespace
}  // namespace canopy::control
