// Connections that outlive the endpoint that served them.
#include <sys/socket.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/openpmix/endpoint_testing.h"
#include "server/ports/fake_fd_store.h"

namespace canopy::openpmix {
namespace {

// Requests in the modern form.
constexpr char kFence[] = "02 03 02 01 02 08 6e737800 feffffff0f 02 00";
constexpr char kFinalize[] = "02 05";
constexpr char kJobInfo[] = "02 00";
constexpr char kAllEvents[] = "02 0d 02 00 02 00";

class OpenPmixRecoveryTest : public OpenPmixEndpointTest {
 protected:
  OpenPmixRecoveryTest() { Restart(); }

  ~OpenPmixRecoveryTest() override { graves_.clear(); }

  // Ends the agent between two instructions, and starts another agent.
  void Restart() {
    graves_.push_back({std::move(loop_), std::move(endpoint_)});
    loop_ = std::make_unique<EventLoop>();
    sink_.inputs.clear();
    OpenPmixOptions options;
    options.fd_store = &fd_store_;
    options.put_text = [this](ProcessText text, TextDone done) {
      texts_.push_back(std::move(text));
      done_.push_back(std::move(done));
    };
    Make(std::move(options));
  }
  void Recover() {
    endpoint_->Recover(kTestJob, fd_store_.Recovered());
    endpoint_->FinishRecovery();
    const auto connected = sink_.All<core::ClientConnected>();
    if (!connected.empty()) client_ = connected.back().client;
  }

  struct Grave {
    std::unique_ptr<EventLoop> loop;
    std::unique_ptr<OpenPmixEndpoint> endpoint;
    ~Grave() { endpoint.reset(); }
    Grave(std::unique_ptr<EventLoop> l, std::unique_ptr<OpenPmixEndpoint> e)
        : loop(std::move(l)), endpoint(std::move(e)) {}
    Grave(Grave&&) = default;
    Grave& operator=(Grave&&) = default;
  };
  std::vector<Grave> graves_;
  FakeFdStore fd_store_;
  std::vector<ProcessText> texts_;
  std::vector<TextDone> done_;
};

TEST_F(OpenPmixRecoveryTest, AWaitingFenceIsReplayed) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, kFence));
  ASSERT_EQ(sink_.All<core::CollectiveArrived>().size(), 1u);
  const core::ClientId before = client_;
  Restart();
  Recover();
  EXPECT_EQ(client_, before);
  ASSERT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
  EXPECT_EQ(sink_.All<core::ClientConnected>()[0].proc, (ProcId{kTestJob, 0}));
  const auto arrived = sink_.All<core::CollectiveArrived>();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].request, 101u);
  EXPECT_EQ(Receive(fd), "");
  Answer(101, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101), "0200");
  EXPECT_NE(Ask(fd, 102, kJobInfo), "") << "it is served";
}

TEST_F(OpenPmixRecoveryTest, PublishAndLookupAreReplayed) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 06 02 e807 02 01 02 04 6b00 00 0e 05"));
  Send(fd, Message(102, "02 07 02 e807 02 01 02 04 6b00 02 00"));
  Send(fd, Message(103, "02 08 02 e807 02 00 02 00"));
  Restart();
  Recover();
  ASSERT_EQ(sink_.All<core::PublishArrived>().size(), 1u);
  EXPECT_EQ(sink_.All<core::PublishArrived>()[0].request, 101u);
  ASSERT_EQ(sink_.All<core::LookupArrived>().size(), 1u);
  EXPECT_EQ(sink_.All<core::LookupArrived>()[0].request, 102u);
  EXPECT_EQ(sink_.All<core::UnpublishArrived>().size(), 1u);
  Answer(101, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101), "0200");
  Answer(102, kSuccess, Unhex("01 04 7800 02 04 6b00 0e 05"));
  EXPECT_EQ(Body(Receive(fd), 102), "020002010204780002046b000e05");
}

TEST_F(OpenPmixRecoveryTest, ASuccessorServesRequestsThatWaitedForATurn) {
  int64_t now = 0;  // a turn is one message
  endpoint_.reset();
  OpenPmixOptions options;
  options.fd_store = &fd_store_;
  options.budget.now = [&now] { return now += int64_t{1} << 30; };
  Make(std::move(options));
  const UniqueFd fd = Join();
  std::string fences;
  for (uint32_t tag = 101; tag < 151; ++tag) fences += Message(tag, kFence);
  ASSERT_EQ(send(fd.get(), fences.data(), fences.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(fences.size()));
  loop_->RunOnce(1000);
  EXPECT_LT(sink_.All<core::CollectiveArrived>().size(), 10u);
  Restart();
  Recover();
  EXPECT_EQ(sink_.All<core::CollectiveArrived>().size(), 50u);
}

TEST_F(OpenPmixRecoveryTest, AnUnansweredLogRequestIsReplayed) {
  // pmix.log.stderr = "x"
  constexpr char kLog[] =
      "02 10 02 00 02 01 02 20 706d69782e6c6f672e73746465727200 00"
      "03 04 7800 02 00";
  const UniqueFd fd = Join();
  for (uint32_t tag = 101; tag < 103; ++tag) Send(fd, Message(tag, kLog));
  ASSERT_EQ(texts_.size(), 2u);
  done_[0](kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101), "0200");
  Restart();
  Recover();
  ASSERT_EQ(texts_.size(), 3u);
  EXPECT_TRUE(texts_[2].again);
  EXPECT_EQ(texts_[2].client, texts_[1].client);
  EXPECT_EQ(texts_[2].request, 102u);
  done_[1](kSuccess);  // belongs to the former agent
  EXPECT_EQ(Receive(fd), "");
  done_[2](kSuccess);
  EXPECT_EQ(Body(Receive(fd), 102), "0200");
  Send(fd, Message(103, kLog));
  EXPECT_FALSE(texts_[3].again);
}

// The process of one connection is not known yet; the greeting of the other one
// has not been read.
TEST_F(OpenPmixRecoveryTest,
       AConnectionThatWasNotAdmittedIsAdmittedByTheSuccessor) {
  endpoint_->OnProcess(kTestJob, 0, 0);
  const UniqueFd waiting = Connect();
  Send(waiting, Greeting(kTestJob, 0));
  const UniqueFd silent = Connect();
  ASSERT_EQ(endpoint_->num_connections(), 2u);
  EXPECT_TRUE(endpoint_->num_connections() == fd_store_.connections.size());
  Restart();
  Recover();
  EXPECT_EQ(endpoint_->num_connections(), 2u);
  EXPECT_EQ(Receive(waiting).size(), 8u);
  Send(silent, Greeting(kTestJob, 0));
  EXPECT_EQ(Receive(silent).size(), 8u);
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 2u);
  EXPECT_NE(Ask(waiting, 101, kJobInfo), "");
}

TEST_F(OpenPmixRecoveryTest, ALateAdmittedConnectionIsRecovered) {
  endpoint_->OnProcess(kTestJob, 0, 0);
  const UniqueFd fd = Connect();
  Send(fd, Greeting(kTestJob, 0));
  EXPECT_EQ(Receive(fd), "");
  endpoint_->OnProcess(kTestJob, 0, kPid);
  EXPECT_EQ(Receive(fd).size(), 8u);
  EXPECT_NE(Ask(fd, 101, kJobInfo), "");
  Restart();
  Recover();
  EXPECT_NE(Ask(fd, 102, kJobInfo), "");
}

TEST_F(OpenPmixRecoveryTest, ASuccessorGetsTheNumberOfEndedFences) {
  const UniqueFd fd = Join();
  for (uint32_t tag = 101; tag < 108; ++tag) {
    Send(fd, Message(tag, kFence));
    // A rejected fence does not count.
    Answer(tag, tag == 103 ? kErrResourceBusy : kSuccess);
    EXPECT_NE(Receive(fd), "");
  }
  for (int i = 0; i < 3; ++i) {
    Restart();
    Recover();
    const auto reattached = sink_.All<core::ClientReattached>();
    ASSERT_EQ(reattached.size(), 1u);
    ASSERT_EQ(reattached[0].counts.size(), 1u);
    EXPECT_EQ(reattached[0].counts[0].ended, 6u);
    EXPECT_EQ(reattached[0].counts[0].participants,
              (std::vector<ProcId>{{kTestJob, kRankWildcard}}));
  }
}

// A group is constructed by all ranks, by one, and by all again. It is
// destructed before and after a restart of the agent.
TEST_F(OpenPmixRecoveryTest, ADestructHasTheMembersOfTheLastConstruct) {
  const std::string construct = "02 18 02 04 6b00 02 01 02 08 6e737800 ";
  const std::string all = "feffffff0f 02 00";
  const std::string one = "00 02 00";
  const UniqueFd fd = Join();
  uint32_t tag = 101;
  for (const std::string& of : {all, one, all}) {
    Send(fd, Message(tag, construct + of));
    Answer(tag++, kSuccess);
    EXPECT_NE(Receive(fd), "");
  }
  for (const bool again : {false, true}) {
    SCOPED_TRACE(again);
    if (again) {
      Restart();
      Recover();
    }
    Send(fd, Message(tag++, "02 1c 02 04 6b00 02 00 02 00"));
    const auto arrived = sink_.All<core::CollectiveArrived>();
    ASSERT_FALSE(arrived.empty());
    EXPECT_EQ(arrived.back().op, core::CollectiveOp::kGroupDestruct);
    EXPECT_EQ(arrived.back().participants,
              (std::vector<ProcId>{{kTestJob, kRankWildcard}}));
  }
}

// The answer has been created, and the agent ends before it is sent.
TEST_F(OpenPmixRecoveryTest, ASuccessorSendsAnUnsentAnswerOnce) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, kFence));
  Answer(101, kSuccess);
  Restart();
  Recover();
  EXPECT_TRUE(sink_.All<core::CollectiveArrived>().empty());
  EXPECT_EQ(sink_.All<core::ClientReattached>()[0].counts[0].ended, 1u);
  EXPECT_EQ(Body(Receive(fd), 101), "0200");
  Restart();
  Recover();
  EXPECT_EQ(Receive(fd), "");
}

TEST_F(OpenPmixRecoveryTest, ASuccessorReadsUnreadMessages) {
  const UniqueFd fd = Join();
  const std::string message = Message(101, kFence);
  ASSERT_EQ(send(fd.get(), message.data(), message.size(), 0),
            static_cast<ssize_t>(message.size()));
  Restart();
  Recover();
  RunRounds();
  EXPECT_EQ(sink_.All<core::CollectiveArrived>().size(), 1u);
}

TEST_F(OpenPmixRecoveryTest, ASuccessorCompletesAPartlyReadMessage) {
  const UniqueFd fd = Join();
  const std::string message = Message(101, kFence);
  Send(fd, message.substr(0, 21));
  Restart();
  Recover();
  EXPECT_TRUE(sink_.All<core::CollectiveArrived>().empty());
  Send(fd, message.substr(21));
  EXPECT_EQ(sink_.All<core::CollectiveArrived>().size(), 1u);
}

TEST_F(OpenPmixRecoveryTest, PartlySentAnswersAreContinued) {
  const UniqueFd fd = Join();
  // Requests job info without reading it, until the kernel accepts no more.
  uint32_t tag = 101;
  while (tag < 4000) {
    const std::string message = Message(tag++, kJobInfo);
    if (send(fd.get(), message.data(), message.size(), MSG_DONTWAIT) < 0) break;
    RunRounds();
  }
  const std::string one = [&] {
    const UniqueFd other = Join();
    return Ask(other, 50000, kJobInfo);
  }();
  Restart();
  Recover();
  std::string all;
  for (;;) {
    const std::string more = Receive(fd);
    if (more.empty() || more == "closed") break;
    all += more;
  }
  std::set<uint32_t> tags;
  std::string_view rest = all;
  while (rest.size() >= kHeaderSize) {
    const MessageHeader header = ParseHeader(rest);
    ASSERT_EQ(ToHex(std::string(rest.substr(kHeaderSize, header.length))), one);
    EXPECT_TRUE(tags.insert(header.tag).second) << header.tag;
    rest.remove_prefix(kHeaderSize + header.length);
  }
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(tags.size(), tag - 101);
}

TEST_F(OpenPmixRecoveryTest, ASuccessorRestoresEventRegistrations) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, kAllEvents));
  Answer(101, kSuccess);
  EXPECT_NE(Receive(fd), "");
  Restart();
  Recover();
  const auto wanted = sink_.All<core::EventsWanted>();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_TRUE(wanted[0].all);
}

TEST_F(OpenPmixRecoveryTest, AnEventIsSentOnce) {
  const UniqueFd fd = Join();
  const auto notify = [&](uint64_t number) {
    endpoint_->Notify(
        {client_, std::make_shared<const core::ClientEvent>(core::ClientEvent{
                      {{"x", 2}, number}, -5, {"x", 2}, 3, {}})});
  };
  notify(7);
  EXPECT_NE(Receive(fd), "");
  Restart();
  Recover();
  notify(7);
  notify(8);
  EXPECT_NE(Receive(fd), "");
  EXPECT_EQ(Receive(fd), "");
}

TEST_F(OpenPmixRecoveryTest, AClientThatLeftDuringTheRestartIsDetected) {
  UniqueFd fd = Join();
  Send(fd, Message(101, kFinalize));
  Answer(101, kSuccess);
  EXPECT_NE(Receive(fd), "");
  Restart();
  fd.Reset();
  Recover();
  RunRounds();
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
  EXPECT_EQ(fd_store_.released.size(), 1u);
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

// Bytes were read without a record, so the stream cannot be continued.
TEST_F(OpenPmixRecoveryTest, AConnectionWithUnrecordedReadsIsClosed) {
  const UniqueFd fd = Join();
  const std::string message = Message(101, kFence);
  ASSERT_EQ(send(fd.get(), message.data(), message.size(), 0),
            static_cast<ssize_t>(message.size()));
  char byte;
  ASSERT_EQ(recv(fd_store_.connections.begin()->second.get(), &byte, 1, 0), 1);
  Restart();
  log_.clear();
  Recover();
  EXPECT_EQ(Receive(fd), "closed");
  EXPECT_TRUE(sink_.All<core::ClientConnected>().empty());
  ASSERT_EQ(log_.size(), 1u);
}

TEST_F(OpenPmixRecoveryTest, RecoveredConnectionsOfAnUnknownJobAreClosed) {
  const UniqueFd fd = Join();
  Restart();
  std::vector<NamedFd> persisted;
  persisted.push_back(
      {fd_store_.connections.begin()->first,
       UniqueFd(dup(fd_store_.connections.begin()->second.get()))});
  endpoint_->Recover("other", std::move(persisted));
  endpoint_->FinishRecovery();
  EXPECT_EQ(Receive(fd), "closed");
}

TEST_F(OpenPmixRecoveryTest, TheSuccessorListensOnTheSameAddress) {
  const std::string uri = endpoint_->uri();
  const UniqueFd listener(dup(endpoint_->listener()));
  graves_.push_back({std::move(loop_), std::move(endpoint_)});
  loop_ = std::make_unique<EventLoop>();
  OpenPmixOptions options;
  options.server = {"srv", 0};
  endpoint_ = std::make_unique<OpenPmixEndpoint>(loop_.get(), &sink_,
                                                 std::move(options));
  ASSERT_TRUE(endpoint_->Start(UniqueFd(dup(listener.get()))).ok());
  EXPECT_EQ(endpoint_->uri(), uri);
}

}  // namespace
}  // namespace canopy::openpmix
