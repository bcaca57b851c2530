// Runs jobs against a control service that a test controls.
#include "client/cli/run/run_client.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/control/control_client.h"
#include "client/cli/control/grpc_agents.h"
#include "protos/control.grpc.pb.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;
using Stream = grpc::ServerReaderWriter<v1c::RunEvent, v1c::RunRequest>;

class FakeControl : public v1c::Control::Service {
 public:
  std::function<grpc::Status(Stream* stream)> play;

  grpc::Status Run(grpc::ServerContext*, Stream* stream) override {
    return play(stream);
  }
  grpc::Status SignalJob(grpc::ServerContext*,
                         const v1c::SignalJobRequest* request,
                         v1c::SignalJobReply*) override {
    if (request->nspace() == "job") return grpc::Status::OK;
    return {grpc::StatusCode::NOT_FOUND, "no job " + request->nspace()};
  }
  grpc::Status Shutdown(grpc::ServerContext*, const v1c::ShutdownRequest*,
                        v1c::ShutdownReply*) override {
    return {grpc::StatusCode::FAILED_PRECONDITION, "jobs run"};
  }
};

class Observer : public RunObserver {
 public:
  void OnMapped(const v1c::JobMapped& mapped) override {
    nspace = mapped.nspace();
  }
  void OnSpawnedEnd(const v1c::SpawnedEnd&) override {}
  void OnNotice(const std::string&) override {}
  void OnProgress(const v1c::Progress&) override {}
  void OnProgramNotes(const v1c::ProgramNotes&) override {}
  OutputFate OnOutput(const v1c::Output& output) override {
    text += output.data();
    return fate;
  }
  int OnTick() override { return -1; }
  void OnRequeued(const v1c::JobRequeued& requeued) override {
    reason = requeued.reason();
  }

  std::string reason;  // reason of the last requeue
  std::string nspace;
  std::string text;
  OutputFate fate = OutputFate::kWritten;
};

void SendEnd(Stream* stream, int exit_code) {
  v1c::RunEvent event;
  event.mutable_end()->set_exit_code(exit_code);
  stream->Write(event);
}

void SendOutput(Stream* stream, const std::string& data) {
  v1c::RunEvent event;
  event.mutable_output()->set_channel(2);
  event.mutable_output()->set_data(data);
  stream->Write(event);
}

class RunClientTest : public testing::Test {
 protected:
  // Creates the source before gRPC creates threads, which inherit the blocked
  // signals.
  static void SetUpTestSuite() { signals_ = new SignalSource; }

  void SetUp() override {
    std::string dir = "/tmp/canopy-test-XXXXXX";
    ASSERT_NE(mkdtemp(dir.data()), nullptr);
    directory_ = dir;
    target_.address = "unix:" + dir + "/control.sock";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(target_.address,
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&control_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void TearDown() override {
    server_->Shutdown();
    unlink((directory_ + "/control.sock").c_str());
    rmdir(directory_.c_str());
  }

  Result<RunOutcome> Run(int stdin_fd = -1) {
    RunClientOptions options;
    options.stdin_fd = stdin_fd;
    options.signals = signals_;
    v1c::Launch launch;
    launch.set_request("request");
    if (redials_) {
      options.link.dial = [this]() -> std::unique_ptr<RunConnection> {
        auto next = DialRun(target_);
        return next.ok() ? *std::move(next) : nullptr;
      };
    }
    auto connection = DialRun(target_);
    if (!connection.ok()) return connection.status();
    return RunJob(*std::move(connection), launch, options, observer_);
  }

  static SignalSource* signals_;
  std::string directory_;
  ControlTarget target_;
  FakeControl control_;
  std::unique_ptr<grpc::Server> server_;
  bool redials_ = false;  // another agent may take over
  std::shared_ptr<Observer> observer_ = std::make_shared<Observer>();
};

SignalSource* RunClientTest::signals_ = nullptr;

TEST_F(RunClientTest, ARequeuedJobIsRequestedAgainWithItsInput) {
  int input[2];
  ASSERT_EQ(pipe(input), 0);
  ASSERT_EQ(write(input[1], "words", 5), 5);
  close(input[1]);
  control_.play = [](Stream* stream) {
    v1c::RunRequest request;
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_TRUE(request.launch().requeues());
    v1c::RunEvent event;
    event.mutable_mapped()->set_nspace("job-1");
    stream->Write(event);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(stream->Read(&request));
    event.mutable_requeued()->set_name("job-1");
    event.mutable_requeued()->set_attempt(2);
    event.mutable_requeued()->set_since_ms(99);
    event.mutable_requeued()->set_reason("for others");
    stream->Write(event);
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_EQ(request.launch().queued_as(), "job-1");
    EXPECT_EQ(request.launch().attempt(), 2u);
    EXPECT_EQ(request.launch().queued_since_ms(), 99);
    EXPECT_EQ(request.launch().request(), "request");
    event.mutable_mapped()->set_nspace("job-2");
    stream->Write(event);
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_EQ(request.input().data(), "words");
    EXPECT_EQ(request.input().position(), 0u);
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_TRUE(request.has_input());
    EXPECT_EQ(request.input().data(), "") << "the end";
    SendEnd(stream, 5);
    return grpc::Status::OK;
  };
  const Result<RunOutcome> outcome = Run(input[0]);
  close(input[0]);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->end.exit_code(), 5);
  EXPECT_EQ(observer_->reason, "for others");
  EXPECT_EQ(observer_->nspace, "job-2");
}

TEST_F(RunClientTest, RunsAJobFromLaunchToEnd) {
  control_.play = [](Stream* stream) {
    v1c::RunRequest request;
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_EQ(request.launch().request(), "request");
    v1c::RunEvent event;
    event.mutable_mapped()->set_nspace("job");
    stream->Write(event);
    SendOutput(stream, "hello\n");
    SendEnd(stream, 7);
    return grpc::Status::OK;
  };
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->end.exit_code(), 7);
  EXPECT_EQ(outcome->end_signal, 0);
  EXPECT_FALSE(outcome->no_reader);
  EXPECT_EQ(observer_->nspace, "job");
  EXPECT_EQ(observer_->text, "hello\n");
}

TEST_F(RunClientTest, OutputIsAcknowledgedWhenItIsWritten) {
  uint64_t consumed = 0;
  control_.play = [&consumed](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    const std::string data(100 << 10, 'x');
    for (int i = 0; i < 4; ++i) SendOutput(stream, data);
    while (consumed < data.size() * 3 && stream->Read(&request)) {
      consumed += request.consumed();
    }
    SendEnd(stream, 0);
    return grpc::Status::OK;
  };
  ASSERT_TRUE(Run().ok());
  EXPECT_GE(consumed, uint64_t{300} << 10);
  EXPECT_LE(consumed, uint64_t{400} << 10);
}

TEST_F(RunClientTest, InputIsReadAtMostOneWindowAhead) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  constexpr size_t kTotal = 1 << 20;
  std::thread writer([&fds] {
    const std::string data(kTotal, 'i');
    for (size_t at = 0; at < data.size();) {
      const ssize_t n = write(fds[1], data.data() + at, data.size() - at);
      if (n <= 0) break;
      at += static_cast<size_t>(n);
    }
    close(fds[1]);
  });
  size_t got = 0;
  size_t in_flight = 0;
  size_t most = 0;
  bool ended = false;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    while (!ended && stream->Read(&request)) {
      const size_t n = request.input().data().size();
      ended = n == 0;
      got += n;
      in_flight += n;
      most = std::max(most, in_flight);
      // Credit arrives late and in large amounts.
      if (in_flight < (200u << 10) && !ended) continue;
      v1c::RunEvent event;
      event.set_input_consumed(std::exchange(in_flight, 0));
      stream->Write(event);
    }
    SendEnd(stream, 0);
    return grpc::Status::OK;
  };
  ASSERT_TRUE(Run(fds[0]).ok());
  writer.join();
  close(fds[0]);
  EXPECT_EQ(got, kTotal);
  EXPECT_TRUE(ended);
  EXPECT_LE(most, size_t{300} << 10);
}

TEST_F(RunClientTest, AnEndSignalRequestsTheEndAndASecondKills) {
  std::vector<v1c::RunRequest> requests;
  control_.play = [&requests](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    kill(getpid(), SIGTERM);
    stream->Read(&request);
    requests.push_back(request);
    kill(getpid(), SIGINT);
    stream->Read(&request);
    requests.push_back(request);
    SendEnd(stream, 143);
    return grpc::Status::OK;
  };
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->end_signal, SIGTERM);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_NE(requests[0].kill().reason().find("SIGTERM"), std::string::npos);
  EXPECT_FALSE(requests[0].kill().immediately());
  EXPECT_TRUE(requests[1].kill().immediately());
}

TEST_F(RunClientTest, SignalsThatDoNotEndTheLauncherAreForwarded) {
  int signal = 0;
  control_.play = [&signal](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    kill(getpid(), SIGUSR2);
    stream->Read(&request);
    signal = request.signal();
    SendEnd(stream, 0);
    return grpc::Status::OK;
  };
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(signal, SIGUSR2);
}

TEST_F(RunClientTest, AJobWhoseOutputHasNoReaderIsKilled) {
  observer_->fate = OutputFate::kNoReader;
  int kills = 0;
  control_.play = [&kills](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    SendOutput(stream, "a\n");
    SendOutput(stream, "b\n");
    stream->Read(&request);
    kills += request.has_kill() ? 1 : 0;
    SendEnd(stream, 0);
    return grpc::Status::OK;
  };
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->no_reader);
  EXPECT_EQ(kills, 1);
}

TEST_F(RunClientTest, ABrokenConnectionIsReported) {
  control_.play = [](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
  };
  const auto outcome = Run();
  EXPECT_EQ(outcome.code(), kErrLostConnection);
  EXPECT_NE(outcome.status().message().find("going down"), std::string::npos);
}

// Sends the first events of an agent that is lost later.
void SendMapped(Stream* stream, uint32_t grace_ms) {
  v1c::RunEvent event;
  v1c::JobMapped* const mapped = event.mutable_mapped();
  mapped->set_nspace("job");
  mapped->set_num_procs(2);
  mapped->set_grace_ms(grace_ms);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    mapped->add_nodes()->add_procs()->set_rank(rank);
  }
  stream->Write(event);
}

void SendAttached(Stream* stream, bool known) {
  v1c::RunEvent event;
  event.mutable_reattached()->set_known(known);
  stream->Write(event);
}

TEST_F(RunClientTest, ContinuesWithTheSuccessor) {
  std::string token;
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    EXPECT_TRUE(stream->Read(&request));
    if (++calls == 1) {
      token = request.launch().token();
      SendMapped(stream, 60000);
      SendOutput(stream, "one ");
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
    }
    EXPECT_EQ(request.reattach().token(), token);
    EXPECT_EQ(request.reattach().received_size(), 2);
    EXPECT_EQ(request.reattach().received(0), 4u);
    EXPECT_EQ(request.reattach().received(1), 0u);
    EXPECT_FALSE(request.reattach().has_kill());
    SendAttached(stream, true);
    SendOutput(stream, "two");
    v1c::RunEvent flush;
    flush.set_flush(true);
    stream->Write(flush);
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_EQ(request.consumed(), 3u);
    SendEnd(stream, 9);
    return grpc::Status::OK;
  };
  redials_ = true;
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(token.size(), 16u);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(outcome->end.exit_code(), 9);
  EXPECT_EQ(observer_->text, "one two");
}

TEST_F(RunClientTest, DoesNotWaitForASuccessorWithoutARestartGrace) {
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    ++calls;
    SendMapped(stream, 0);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
  };
  redials_ = true;
  const auto outcome = Run();
  EXPECT_EQ(outcome.code(), kErrLostConnection);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(outcome.status().message().find("no other one came"),
            std::string::npos);
}

TEST_F(RunClientTest, AfterAPlannedDowntimeTheLauncherWaitsForOneSuccessor) {
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    if (++calls > 2) return grpc::Status::OK;
    if (calls == 1) {
      SendMapped(stream, 0);
      v1c::RunEvent away;
      away.set_planned_downtime_ms(60000);
      stream->Write(away);
    } else {
      SendAttached(stream, true);
    }
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
  };
  redials_ = true;
  EXPECT_EQ(Run().code(), kErrLostConnection);
  EXPECT_EQ(calls, 2);
}

// Returns the input that the client sends, up to its end.
std::string ReadInput(Stream* stream, uint64_t* position) {
  std::string text;
  v1c::RunRequest request;
  while (stream->Read(&request)) {
    if (!request.has_input()) continue;
    EXPECT_TRUE(request.input().has_position());
    if (text.empty()) *position = request.input().position();
    EXPECT_EQ(request.input().position(), *position + text.size());
    if (request.input().data().empty()) break;
    text += request.input().data();
  }
  return text;
}

TEST_F(RunClientTest, InputThatWasNotConsumedIsSentAgain) {
  const std::string all(100'000, 'i');
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  std::thread writer([&] {
    EXPECT_EQ(write(fds[1], all.data(), all.size()), 100'000);
    close(fds[1]);
  });
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    EXPECT_TRUE(stream->Read(&request));
    uint64_t position = 0;
    v1c::RunEvent event;
    if (++calls == 1) {
      SendMapped(stream, 60000);
      EXPECT_EQ(ReadInput(stream, &position), all);
      EXPECT_EQ(position, 0u);
      event.set_input_consumed(40'000);
      stream->Write(event);
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
    }
    EXPECT_LE(request.reattach().input_begin(), 40'000u);
    event.mutable_reattached()->set_known(true);
    event.mutable_reattached()->set_input_done(70'000);
    stream->Write(event);
    const std::string again = ReadInput(stream, &position);
    EXPECT_LE(position, 70'000u);
    EXPECT_EQ(position + again.size(), all.size());
    SendEnd(stream, 0);
    return grpc::Status::OK;
  };
  redials_ = true;
  EXPECT_TRUE(Run(fds[0]).ok());
  EXPECT_EQ(calls, 2);
  writer.join();
  close(fds[0]);
}

TEST_F(RunClientTest, ASuccessorThatReportsNoPositionGetsOnlyTheEndOfTheInput) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  EXPECT_EQ(write(fds[1], "input", 5), 5);
  close(fds[1]);
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    EXPECT_TRUE(stream->Read(&request));
    uint64_t position = 0;
    if (++calls == 1) {
      SendMapped(stream, 60000);
      EXPECT_EQ(ReadInput(stream, &position), "input");
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
    }
    SendAttached(stream, true);
    EXPECT_EQ(ReadInput(stream, &position), "");
    SendEnd(stream, 0);
    return grpc::Status::OK;
  };
  redials_ = true;
  EXPECT_TRUE(Run(fds[0]).ok());
  EXPECT_EQ(calls, 2);
  close(fds[0]);
}

TEST_F(RunClientTest, LaunchesAgainIfTheAgentHasNoSuchJob) {
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    EXPECT_TRUE(stream->Read(&request));
    if (++calls == 1) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "");
    EXPECT_TRUE(request.has_reattach());
    SendAttached(stream, false);
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_EQ(request.launch().request(), "request");
    EXPECT_FALSE(request.launch().token().empty());
    SendEnd(stream, 0);
    return grpc::Status::OK;
  };
  redials_ = true;
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(calls, 2);
}

TEST_F(RunClientTest, AMappedJobEndsIfTheSuccessorDoesNotKnowIt) {
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    stream->Read(&request);
    if (++calls == 1) {
      SendMapped(stream, 60000);
    } else {
      SendAttached(stream, false);
    }
    return grpc::Status::OK;
  };
  redials_ = true;
  const auto outcome = Run();
  EXPECT_EQ(outcome.code(), kErrLostConnection);
  EXPECT_NE(outcome.status().message().find("does not know the job"),
            std::string::npos);
}

TEST_F(RunClientTest, AKillRequestIsRepeated) {
  int calls = 0;
  control_.play = [&](Stream* stream) {
    v1c::RunRequest request;
    EXPECT_TRUE(stream->Read(&request));
    if (++calls == 1) {
      SendMapped(stream, 60000);
      kill(getpid(), SIGTERM);
      EXPECT_TRUE(stream->Read(&request));
      EXPECT_TRUE(request.has_kill());
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "killed");
    }
    EXPECT_TRUE(request.reattach().has_kill());
    EXPECT_FALSE(request.reattach().kill().immediately());
    SendAttached(stream, true);
    SendEnd(stream, 143);
    return grpc::Status::OK;
  };
  redials_ = true;
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->end_signal, SIGTERM);
}

TEST_F(RunClientTest, UnaryCallsReturnTheAgentsStatus) {
  auto client = ControlClient::Connect(target_, 5000);
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_TRUE(client->SignalJob("job", 1).ok());
  const Status unknown = client->SignalJob("other", 1);
  EXPECT_EQ(unknown.code(), kErrNotFound);
  EXPECT_EQ(unknown.message(), "no job other");
  EXPECT_EQ(client->Shutdown(false).code(), kErrResourceBusy);
  EXPECT_EQ(client->Why("").code(), kErrNotSupported);
}

TEST_F(RunClientTest, ConnectFailsIfNoAgentAnswers) {
  ControlTarget nobody;
  nobody.address = "unix:" + directory_ + "/nobody";
  EXPECT_EQ(ControlClient::Connect(nobody, 5000).code(), kErrUnreach);
}

TEST_F(RunClientTest, ConnectOverTheNetworkIsRefusedWithoutTls) {
  ControlTarget remote;
  remote.security = "plaintext";
  for (const char* address : {"192.0.2.1:1", "127.0.0.1:1"}) {
    remote.address = address;
    const Status status = ControlClient::Connect(remote, 5000).status();
    EXPECT_EQ(status.code(), kErrNotSupported) << address;
    EXPECT_NE(status.message().find("--security plaintext"), std::string::npos);
  }
}

}  // namespace
}  // namespace canopy::cli
