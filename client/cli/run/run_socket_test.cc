// Runs jobs against an agent's run socket that a test controls.
#include "client/cli/run/run_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "client/cli/run/run_client.h"
#include "common/message_stream.h"
#include "common/posix/unix_socket.h"
#include "common/run_protocol.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

class Observer : public RunObserver {
 public:
  void OnMapped(const v1c::JobMapped&) override {}
  void OnSpawnedEnd(const v1c::SpawnedEnd&) override {}
  void OnNotice(const std::string&) override {}
  void OnProgress(const v1c::Progress&) override {}
  void OnProgramNotes(const v1c::ProgramNotes&) override {}
  OutputFate OnOutput(const v1c::Output& output) override {
    text += output.data();
    return OutputFate::kWritten;
  }
  int OnTick() override { return -1; }

  std::string text;
};

std::string Frame(const std::string& message) {
  std::string frame(kMessageHead, '\0');
  PutMessageLength(static_cast<uint32_t>(message.size()), frame.data());
  return frame + message;
}

std::string Output(const std::string& data) {
  v1c::RunEvent event;
  event.mutable_output()->set_channel(2);
  event.mutable_output()->set_data(data);
  return Frame(event.SerializeAsString());
}

std::string End(int exit_code) {
  v1c::RunEvent event;
  event.mutable_end()->set_exit_code(exit_code);
  return Frame(event.SerializeAsString());
}

// The agent's end of a connection.
class Agent {
 public:
  explicit Agent(int fd) : fd_(fd) {}
  void Send(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t n =
          send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return;
      at += static_cast<size_t>(n);
    }
  }
  bool Receive(v1c::RunRequest* request) {
    std::string_view message;
    while (in_.Take(&message) != MessageReader::Next::kMessage) {
      char buffer[4096];
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return false;
      in_.Append({buffer, static_cast<size_t>(n)});
    }
    return request->ParseFromArray(message.data(),
                                   static_cast<int>(message.size()));
  }

 private:
  const int fd_;
  MessageReader in_{kMaxRunMessage};
};

class RunSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string directory = "/tmp/canopy-test-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    directory_ = directory;
    auto listener = ListenUnix(RunSocketBeside(control()), 8);
    ASSERT_TRUE(listener.ok());
    listener_ = *std::move(listener);
    // The socket is connected before the connection is accepted.
    socket_ = RunSocket::Connect(control());
    ASSERT_NE(socket_, nullptr);
    server_.Reset(accept(listener_.get(), nullptr, nullptr));
    ASSERT_TRUE(server_);
  }
  void TearDown() override {
    unlink(RunSocketBeside(control()).c_str());
    rmdir(directory_.c_str());
  }
  std::string control() const { return directory_ + "/control.sock"; }

  // Runs one job with `play` as the agent; the connection ends when `play`
  // returns.
  Result<RunOutcome> Run(const std::function<void(Agent*)>& play) {
    std::thread agent([&] {
      Agent end(server_.get());
      play(&end);
      server_.Reset();
    });
    v1c::Launch launch;
    launch.set_request("request");
    auto outcome = RunJob(std::move(socket_), launch, {}, observer_);
    agent.join();
    return outcome;
  }

  std::string directory_;
  UniqueFd listener_;
  UniqueFd server_;
  std::unique_ptr<RunSocket> socket_;
  std::shared_ptr<Observer> observer_ = std::make_shared<Observer>();
};

TEST_F(RunSocketTest, TheGreetingProvesThatTheAgentServes) {
  EXPECT_FALSE(socket_->WaitGreeting(0));
  Agent(server_.get()).Send(Frame("") + End(3));
  EXPECT_TRUE(socket_->WaitGreeting(60000));
  EXPECT_TRUE(socket_->at_leader());
  v1c::RunEvent event;
  EXPECT_TRUE(socket_->Read(&event));
  EXPECT_EQ(event.end().exit_code(), 3);
  // The connection is open, but there are no further events.
  EXPECT_FALSE(socket_->Read(&event));
}

TEST_F(RunSocketTest, TheGreetingShowsWhetherTheAgentIsTheLeader) {
  Agent(server_.get()).Send(Frame(std::string(kGreetingElsewhere)));
  EXPECT_TRUE(socket_->WaitGreeting(60000));
  EXPECT_FALSE(socket_->at_leader());
}

TEST_F(RunSocketTest, TheGreetingOfAnotherProgramIsRejected) {
  Agent(server_.get()).Send("HTTP/1.1 400 Bad Request");
  EXPECT_FALSE(socket_->WaitGreeting(60000));
}

TEST_F(RunSocketTest, ConnectReturnsNullIfNoAgentListens) {
  EXPECT_EQ(RunSocket::Connect("/nonexistent/control.sock"), nullptr);
  listener_.Reset();
  EXPECT_EQ(RunSocket::Connect(control()), nullptr);
}

TEST_F(RunSocketTest, RunsAJobFromLaunchToEnd) {
  const std::string much(300 << 10, 'x');
  uint64_t consumed = 0;
  const auto outcome = Run([&](Agent* agent) {
    v1c::RunRequest request;
    ASSERT_TRUE(agent->Receive(&request));
    EXPECT_EQ(request.launch().request(), "request");
    const std::string events = Output(much) + Output("end") + End(7);
    agent->Send(events.substr(0, 2));
    agent->Send(events.substr(2));
    ASSERT_TRUE(agent->Receive(&request));
    consumed = request.consumed();
  });
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->end.exit_code(), 7);
  EXPECT_EQ(observer_->text, much + "end");
  EXPECT_EQ(consumed, much.size());
}

TEST_F(RunSocketTest, ABrokenConnectionIsReported) {
  const auto outcome = Run([](Agent* agent) {
    v1c::RunRequest request;
    EXPECT_TRUE(agent->Receive(&request));
    agent->Send(Output("first").substr(0, 7));
  });
  EXPECT_EQ(outcome.code(), kErrLostConnection);
}

TEST_F(RunSocketTest, MalformedDataEndsTheCall) {
  const auto outcome = Run([](Agent* agent) {
    v1c::RunRequest request;
    EXPECT_TRUE(agent->Receive(&request));
    agent->Send("\xff\xff\xff\xff");
    while (agent->Receive(&request)) {
    }
  });
  EXPECT_EQ(outcome.code(), kErrLostConnection);
  EXPECT_NE(outcome.status().message().find("malformed data"),
            std::string::npos);
}

}  // namespace
}  // namespace canopy::cli
