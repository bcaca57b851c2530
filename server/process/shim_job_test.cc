#include "server/process/shim_job.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/ports/input_sink.h"

namespace canopy::process {
namespace {

class NullSink : public InputSink {
 public:
  void OnInput(core::Input) override {}
};

std::shared_ptr<const JobSpec> MakeSpec() {
  auto job = std::make_shared<JobSpec>();
  job->nspace = "job";
  job->nodes.push_back({"here", {}, 0, 1});
  JobApp app;
  app.cmd = "program";
  app.argv = {"program"};
  app.num_procs = 1;
  job->apps.push_back(std::move(app));
  job->procs.resize(1);
  return job;
}

// A job, with this test as its shim.
class JobUnderTest {
 public:
  JobUnderTest() {
    context_.loop = &loop_;
    context_.sink = &sink_;
    context_.findings = &findings_;
    context_.start_shim = [this](const JobSpec&) {
      StartedShim shim;
      shim.pid = kNobody;
      shim.connection = Connect();
      return Result<StartedShim>(std::move(shim));
    };
  }
  ~JobUnderTest() {
    job_ = nullptr;
    Settle();
  }

  ShimState state() const { return job_->state(); }
  // Returns true if the agent has closed the connection.
  bool closed() const { return closed_; }
  bool gone() const { return gone_; }

  void Reach(ShimState state);
  void Apply(ShimEvent event);
  void Forget() { job_->Forget(); }
  // Returns true if a frame of this type has already reached the shim's socket.
  // Neither the agent nor the shim has run since the call that sent it.
  bool HasReceived(FrameType wanted) {
    return shim_->HasWaiting(
        [=](FrameType type, std::string_view) { return type == wanted; });
  }

 private:
  // No process has this number.
  static constexpr int kNobody = 1 << 30;

  UniqueFd Connect() {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    shim_ = std::make_unique<FrameChannel>(
        &loop_, UniqueFd(pair[0]), [](FrameChannel::Frame&) {},
        [this](const std::string&) { closed_ = true; });
    return UniqueFd(pair[1]);
  }

  void Make(bool found) {
    const auto on_gone = [this](ShimJob*) { gone_ = true; };
    if (found) {
      job_ = std::make_unique<ShimJob>(
          &context_, Connect(), SocketFile(),
          [](ShimJob*, const std::vector<NamedFd>&) {}, on_gone);
      return;
    }
    const auto spec = MakeSpec();
    job_ = std::make_unique<ShimJob>(
        &context_,
        core::PrepareLocal{spec, std::make_shared<const JobLayout>(*spec)},
        on_gone);
  }

  void Send(FrameType type, const std::string& payload) {
    if (shim_ != nullptr) {
      shim_->Send(type, payload);
      shim_->Flush();
    }
    Settle();
  }
  void SendWelcome(bool started) {
    Welcome welcome;
    welcome.pid = kNobody;
    welcome.started = started;
    welcome.record = EncodeJobSpec(*MakeSpec());
    welcome.ranks = {{0, RankPhase::kWaiting, 0, 0}};
    Send(FrameType::kWelcome, Encode(welcome));
  }
  // Delivers pending frames and their answers.
  void Settle() {
    for (int i = 0; i < 4; ++i) loop_.RunOnce(0);
  }

  EventLoop loop_;
  NullSink sink_;
  FindingCache findings_;
  ProcessContext context_;
  std::unique_ptr<FrameChannel> shim_;
  std::unique_ptr<ShimJob> job_;
  bool closed_ = false;
  bool gone_ = false;
};

void JobUnderTest::Reach(ShimState state) {
  Make(/*found=*/state == ShimState::kGreeting);
  if (state == ShimState::kGreeting || state == ShimState::kNew) return;
  Apply(ShimEvent::kPrepare);
  if (state == ShimState::kPreparing) return;
  if (state == ShimState::kFailed) return Apply(ShimEvent::kNotPrepared);
  Apply(ShimEvent::kPrepared);
  if (state == ShimState::kPrepared) return;
  Apply(ShimEvent::kStart);
  if (state == ShimState::kStarting) return;
  Apply(ShimEvent::kStartedFrame);
  if (state == ShimState::kStarted) return;
  if (state == ShimState::kForgotten) return Apply(ShimEvent::kForget);
  Apply(ShimEvent::kReplacedFrame);
  if (state == ShimState::kLeft) Apply(ShimEvent::kForget);
}

void JobUnderTest::Apply(ShimEvent event) {
  switch (event) {
    case ShimEvent::kWelcome:
    case ShimEvent::kFoundPrepared:
      return SendWelcome(false);
    case ShimEvent::kFoundStarted:
      return SendWelcome(true);
    case ShimEvent::kHeld:
      return Send(FrameType::kHeld, EncodeNames({}));
    case ShimEvent::kPreparedFrame:
    case ShimEvent::kPrepared:
      return Send(FrameType::kPrepared, Encode(Prepared{}));
    case ShimEvent::kNotPrepared:
      return Send(FrameType::kPrepared,
                  Encode(Prepared{kErrJobExeNotFound, "no program"}));
    case ShimEvent::kStartedFrame:
      return Send(FrameType::kStarted, Encode(Started{}));
    case ShimEvent::kOutput:
      return Send(FrameType::kOutput, EncodeOutputHead(0, kChannelStdout));
    case ShimEvent::kExits:
      return Send(FrameType::kExits, Encode(std::vector<ExitedRank>{}));
    case ShimEvent::kInputDone:
      return Send(FrameType::kInputDone, EncodeBytes(0));
    case ShimEvent::kResumed:
      return Send(FrameType::kResumed, EncodeBytes(0));
    case ShimEvent::kTextTaken: {
      ProcessText text;
      text.proc = {"job", 0};
      text.pieces = {{true, "text"}};
      if (!gone_) job_->PutText(text, [](int) {});
      return Send(FrameType::kTextTaken, Encode(TextTaken{}));
    }
    case ShimEvent::kRestartedFrame: {
      return Send(FrameType::kRestarted, Encode(Started{}));
    }
    case ShimEvent::kReplacedFrame:
      return Send(FrameType::kReplaced, "");
    case ShimEvent::kUnknownFrame:
      return Send(static_cast<FrameType>(200), "");
    case ShimEvent::kPrepare:
      job_->Prepare();
      return Settle();
    case ShimEvent::kStart:
      job_->Start(0);
      return Settle();
    case ShimEvent::kForget:
      job_->Forget();
      return Settle();
    case ShimEvent::kLost:
      shim_ = nullptr;
      return Settle();
  }
}

// Returns true if the event can occur in the state. Some events are results of
// frames and have their own rows; in other states the frame's own row applies.
bool CanOccur(ShimState state, ShimEvent event) {
  switch (event) {
    case ShimEvent::kWelcome:
      return state != ShimState::kGreeting;
    case ShimEvent::kFoundPrepared:
    case ShimEvent::kFoundStarted:
      return state == ShimState::kGreeting;
    case ShimEvent::kPreparedFrame:
      return state != ShimState::kPreparing;
    case ShimEvent::kPrepared:
    case ShimEvent::kNotPrepared:
      return state == ShimState::kPreparing;
    default:
      return true;
  }
}

// Returns true for frames, which do not exist without a shim.
bool IsFrame(ShimEvent event) { return event <= ShimEvent::kUnknownFrame; }

TEST(ShimJobTest, TheJobBehavesAsEachCellOfTheTableStates) {
  for (size_t s = 0; s < kShimStates; ++s) {
    for (size_t e = 0; e < kShimEvents; ++e) {
      const auto state = static_cast<ShimState>(s);
      const auto event = static_cast<ShimEvent>(e);
      if (!CanOccur(state, event)) continue;
      if (state == ShimState::kNew && IsFrame(event)) continue;
      SCOPED_TRACE(std::string(NameOf(event)) + " in state " +
                   std::string(NameOf(state)));
      JobUnderTest job;
      job.Reach(state);
      ASSERT_EQ(NameOf(job.state()), NameOf(state));
      ASSERT_FALSE(job.gone());
      const Cell<ShimState> cell = StepOf(state, event);
      job.Apply(event);
      const bool refused = cell.verdict == Verdict::kRefuse;
      EXPECT_EQ(job.closed(), refused);
      // A shim that breaks the protocol counts as lost.
      const ShimState next =
          refused ? StepOf(state, ShimEvent::kLost).next : cell.next;
      EXPECT_EQ(NameOf(job.state()), NameOf(next));
    }
  }
}

// If the agent dies right after Forget, the shim must not remain without a
// socket.
TEST(ShimJobTest, ForgetIsSentToTheShimAtOnce) {
  JobUnderTest job;
  job.Reach(ShimState::kStarted);
  job.Forget();
  EXPECT_TRUE(job.HasReceived(FrameType::kForget));
}

TEST(ShimJobTest, AJobIsGoneWhenAShimThatIsNotNeededIsLost) {
  for (const ShimState state :
       {ShimState::kGreeting, ShimState::kForgotten, ShimState::kLeft}) {
    JobUnderTest job;
    job.Reach(state);
    job.Apply(ShimEvent::kLost);
    EXPECT_TRUE(job.gone()) << NameOf(state);
  }
  for (const ShimState state : {ShimState::kStarted, ShimState::kReplaced}) {
    JobUnderTest job;
    job.Reach(state);
    job.Apply(ShimEvent::kLost);
    EXPECT_FALSE(job.gone()) << NameOf(state);
    job.Apply(ShimEvent::kForget);
    EXPECT_TRUE(job.gone()) << NameOf(state);
  }
}

TEST(ShimStatesTest, TheDocumentContainsTheTableOfStates) {
  std::ifstream in("docs/shim_states.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (size_t e = 0; e < kShimEvents; ++e) {
    const auto event = static_cast<ShimEvent>(e);
    const std::string row = DocumentedRow<ShimState>(
        NameOf(event), kShimStates,
        [event](ShimState state) { return StepOf(state, event); },
        [](ShimState state) { return NameOf(state); });
    EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace canopy::process
