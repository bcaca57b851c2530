#include "server/shim/job_holder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/shim/children.h"

namespace canopy::process {
namespace {

constexpr uint32_t kNever = 1'000'000;  // ms

// A shim in this process, and the agent that it serves.
class ShimUnderTest {
 public:
  explicit ShimUnderTest(const std::string& directory) {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    agent_ = MakeAgent(UniqueFd(pair[0]));
    Result<UniqueFd> dir = OpenDirectory(directory);
    Result<UniqueFd> listener = ListenAt(dir->get(), "s");
    EXPECT_TRUE(listener.ok());
    JobHolder::Sockets sockets = {UniqueFd(pair[1]), *std::move(listener),
                                  SocketFile(*std::move(dir), "s")};
    holder_ = std::make_unique<JobHolder>(&loop_, std::move(sockets),
                                          rlimit{1024, 1024});
    Send(FrameType::kOrphan, EncodeBytes(kNever));
  }
  ~ShimUnderTest() {
    Apply(HolderEvent::kTerminated);
    SignalChildren(SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }

  HolderState state() const { return holder_->state(); }
  void Reach(HolderState state) {
    if (state == HolderState::kEmpty) return;
    // In kForcing the grace time is over at once; in the other states it does
    // not end during this test.
    grace_ms_ = state == HolderState::kForcing ? 0 : kNever;
    Apply(HolderEvent::kPrepare);
    if (state == HolderState::kDescribed) return;
    Apply(HolderEvent::kRanks);
    Apply(HolderEvent::kCheckPassed);
    if (state == HolderState::kChecked) return;
    Apply(HolderEvent::kStart);
    if (state == HolderState::kStarted) return;
    Apply(HolderEvent::kForget);
    while (holder_->state() != state) loop_.RunOnce(10);
  }

  void Apply(HolderEvent event);
  // Sends both frames at once. An empty `ranks` means all.
  void StartAndKill(const std::vector<Rank>& ranks) {
    agent_->Send(FrameType::kStart, "");
    Send(FrameType::kKill, Encode(KillRanks{kNever, ranks}));
  }
  // Connects a later agent that uses this version.
  void Reconnect(const std::string& directory, uint32_t version) {
    Result<UniqueFd> dir = OpenDirectory(directory);
    Result<UniqueFd> socket = ConnectAt(dir->get(), "s");
    ASSERT_TRUE(socket.ok());
    agent_ = MakeAgent(*std::move(socket));
    Send(FrameType::kHello, Encode(Hello{version}));
    Send(FrameType::kResume, "");
  }
  // Ends every rank, and waits until the end is reported.
  void Kill() {
    Send(FrameType::kKill, Encode(KillRanks{0, {}}));
    for (int i = 0; i < 1000 && exits_.empty(); ++i) {
      holder_->OnChildSignal();
      loop_.RunOnce(10);
    }
  }
  const Started& started() const { return started_; }
  const std::vector<ExitedRank>& exits() const { return exits_; }
  // Counts pieces of output and ends of streams.
  size_t outputs() const { return outputs_; }

  // Runs the loop until the shim has this state, and the connection is closed
  // or, with `closed` false, open. The end of a connection may take a moment,
  // because a process that is being started still has the shim's descriptors.
  void RunUntil(HolderState state, bool closed) {
    const int64_t deadline = EventLoop::Now() + 60'000'000'000;
    while ((holder_->state() != state || closed_ != closed) &&
           EventLoop::Now() < deadline) {
      loop_.RunOnce(10);
    }
    EXPECT_EQ(NameOf(holder_->state()), NameOf(state));
    EXPECT_EQ(closed_, closed);
  }

 private:
  std::unique_ptr<FrameChannel> MakeAgent(UniqueFd socket) {
    return std::make_unique<FrameChannel>(
        &loop_, std::move(socket),
        [this](FrameChannel::Frame& frame) {
          if (frame.type == FrameType::kStarted) {
            EXPECT_TRUE(Decode(frame.payload, &started_));
          }
          if (frame.type == FrameType::kOutput) ++outputs_;
          std::vector<ExitedRank> exits;
          if (frame.type != FrameType::kExits) return;
          EXPECT_TRUE(Decode(frame.payload, &exits));
          exits_.insert(exits_.end(), exits.begin(), exits.end());
        },
        [this](const std::string&) { closed_ = true; });
  }
  void Send(FrameType type, const std::string& payload,
            std::vector<UniqueFd> fds = {}) {
    if (agent_ == nullptr) return;
    agent_->Send(type, payload, Bytes(), std::move(fds));
    agent_->Flush();
    Settle();
  }
  // Delivers pending frames and their answers.
  void Settle() {
    for (int i = 0; i < 4; ++i) loop_.RunOnce(0);
  }

  PrepareJob Job() const {
    PrepareJob job;
    job.nspace = "job";
    job.orphan_ms = kNever;
    job.grace_ms = grace_ms_;
    job.window = 1024;
    job.uid = geteuid();
    job.gid = getegid();
    job.apps = {{"/bin/sh", {"sh", "-c", "trap '' TERM; sleep 1000"}, {}, "/"}};
    return job;
  }

  RankSpec NextRank(uint32_t app) {
    RankSpec spec;
    spec.rank = next_rank_++;
    spec.app = app;
    return spec;
  }

  EventLoop loop_;
  std::unique_ptr<JobHolder> holder_;
  std::unique_ptr<FrameChannel> agent_;
  bool closed_ = false;
  Started started_;
  std::vector<ExitedRank> exits_;
  size_t outputs_ = 0;
  uint32_t grace_ms_ = kNever;
  Rank next_rank_ = 0;
};

void ShimUnderTest::Apply(HolderEvent event) {
  std::vector<UniqueFd> fds;
  switch (event) {
    case HolderEvent::kHello:
      return Send(FrameType::kHello, Encode(Hello{}));
    case HolderEvent::kPrepare:
      return Send(FrameType::kPrepare, Encode(Job()));
    case HolderEvent::kRanks:
      return Send(FrameType::kRanks, Encode(std::vector{NextRank(0)}));
    case HolderEvent::kCheck:
      // The check fails, because there is no such application.
      Send(FrameType::kRanks, Encode(std::vector{NextRank(7)}));
      return Send(FrameType::kCheck, "");
    case HolderEvent::kCheckPassed:
      return Send(FrameType::kCheck, "");
    case HolderEvent::kStart:
      return Send(FrameType::kStart, "");
    case HolderEvent::kResume:
      return Send(FrameType::kResume, "");
    case HolderEvent::kSignal:
      return Send(FrameType::kSignal, Encode(SignalRanks{0, {}}));
    case HolderEvent::kKill:
      return Send(FrameType::kKill, Encode(KillRanks{kNever, {}}));
    case HolderEvent::kInput:
      return Send(FrameType::kInput, EncodeInputHead({}));
    case HolderEvent::kCredit:
      return Send(FrameType::kCredit, EncodeBytes(0));
    case HolderEvent::kText: {
      TextRequest text;
      text.parts = {{kChannelStderr, "text"}};
      return Send(FrameType::kText, Encode(text));
    }
    case HolderEvent::kRestart:
      return Send(FrameType::kRestart, Encode(RestartRank{1, RankSpec()}));
    case HolderEvent::kHold:
      fds.emplace_back(dup(STDERR_FILENO));
      return Send(FrameType::kHold, EncodeName("fd"), std::move(fds));
    case HolderEvent::kHoldMany:
      fds.emplace_back(dup(STDERR_FILENO));
      return Send(FrameType::kHoldMany, EncodeNames({"fd"}), std::move(fds));
    case HolderEvent::kRelease:
      return Send(FrameType::kRelease, EncodeNames({"fd"}));
    case HolderEvent::kOrphan:
      return Send(FrameType::kOrphan, EncodeBytes(kNever));
    case HolderEvent::kForget:
      return Send(FrameType::kForget, "");
    case HolderEvent::kUnknownFrame:
      return Send(static_cast<FrameType>(200), "");
    case HolderEvent::kOrphaned:
      Send(FrameType::kOrphan, EncodeBytes(0));
      agent_ = nullptr;
      return Settle();
    case HolderEvent::kTerminated:
      holder_->OnTerminate();
      return Settle();
    case HolderEvent::kGraceOver:
      return Settle();  // a timer causes the event, see Reach
  }
}

class JobHolderTest : public testing::Test {
 protected:
  JobHolderTest() {
    directory_ = testing::TempDir() + "/shimXXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
  }
  ~JobHolderTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

// Returns true if the event has its own effect in the state. In kDescribed, a
// check that passes has the effect of kCheckPassed. A timer causes kGraceOver.
bool CanOccur(HolderState state, HolderEvent event) {
  switch (event) {
    case HolderEvent::kCheckPassed:
      return state == HolderState::kDescribed;
    case HolderEvent::kCheck:
      return state != HolderState::kDescribed;
    case HolderEvent::kGraceOver:
      return false;
    default:
      return true;
  }
}

TEST_F(JobHolderTest, TheShimBehavesAsEachCellOfTheTableStates) {
  for (size_t s = 0; s < kHolderStates; ++s) {
    for (size_t e = 0; e < kHolderEvents; ++e) {
      const auto state = static_cast<HolderState>(s);
      const auto event = static_cast<HolderEvent>(e);
      if (!CanOccur(state, event)) continue;
      SCOPED_TRACE(std::string(NameOf(event)) + " in state " +
                   std::string(NameOf(state)));
      ShimUnderTest shim(directory_);
      shim.Reach(state);
      ASSERT_EQ(shim.state(), state);
      if (event == HolderEvent::kCheckPassed) shim.Apply(HolderEvent::kRanks);
      const Cell<HolderState> cell = StepOf(state, event);
      shim.Apply(event);
      // If there is no job, there is no grace time.
      const bool at_once =
          state == HolderState::kEmpty && cell.next == HolderState::kEnding;
      shim.RunUntil(at_once ? HolderState::kForcing : cell.next,
                    cell.verdict == Verdict::kRefuse);
    }
  }
}

TEST_F(JobHolderTest, ASuccessorGetsTheUsageOfTheRanks) {
  ShimUnderTest shim(directory_);
  shim.Reach(HolderState::kStarted);
  shim.Reconnect(directory_, kShimProtocolVersion);
  shim.Kill();
  ASSERT_EQ(shim.exits().size(), 1u);
  EXPECT_TRUE(shim.exits()[0].used.has_value());
}

TEST_F(JobHolderTest, AnAgentOfAnotherVersionIsRefused) {
  ShimUnderTest shim(directory_);
  shim.Reach(HolderState::kStarted);
  shim.Reconnect(directory_, kShimProtocolVersion + 1);
  shim.RunUntil(HolderState::kStarted, /*closed=*/true);
}

class StartingTest : public JobHolderTest {
 protected:
  static constexpr size_t kRanks = 40;

  StartingTest() : shim_(directory_) {
    shim_.Reach(HolderState::kDescribed);
    for (size_t i = 0; i < kRanks; ++i) shim_.Apply(HolderEvent::kRanks);
    shim_.Apply(HolderEvent::kCheckPassed);
  }

  ShimUnderTest shim_;
};

TEST_F(StartingTest, AKillBeforeTheStartPreventsAllProcesses) {
  shim_.StartAndKill({});
  shim_.RunUntil(HolderState::kStarted, /*closed=*/false);
  EXPECT_TRUE(shim_.started().ranks.empty());
  EXPECT_TRUE(shim_.started().errors.empty());
  ASSERT_EQ(shim_.exits().size(), kRanks);
  EXPECT_EQ(shim_.exits()[0].wait_status, SIGKILL);
  EXPECT_EQ(shim_.outputs(), 2 * kRanks) << "each stream has an end";
}

TEST_F(StartingTest, AKillOfOneRankDoesNotPreventTheStart) {
  shim_.StartAndKill({5});
  shim_.RunUntil(HolderState::kStarted, /*closed=*/false);
  EXPECT_EQ(shim_.started().ranks.size(), kRanks);
}

TEST_F(JobHolderTest, AFailedCheckReturnsToTheStateDescribed) {
  ShimUnderTest shim(directory_);
  shim.Reach(HolderState::kDescribed);
  shim.Apply(HolderEvent::kCheck);
  shim.RunUntil(HolderState::kDescribed, /*closed=*/false);
}

TEST(HolderStatesTest, TheDocumentContainsTheTableOfStates) {
  std::ifstream in("docs/shim_states.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (size_t e = 0; e < kHolderEvents; ++e) {
    const auto event = static_cast<HolderEvent>(e);
    const std::string row = DocumentedRow<HolderState>(
        NameOf(event), kHolderStates,
        [event](HolderState state) { return StepOf(state, event); },
        [](HolderState state) { return NameOf(state); });
    EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace canopy::process
