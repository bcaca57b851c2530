#include "server/process/shim_job.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "server/process/finding_cache.h"
#include "server/process/program_notes.h"
#include "server/process/shim_description.h"
#include "server/process/torch_environment.h"

namespace canopy::process {
namespace {

constexpr size_t kRanksPerFrame = 256;
// The largest payload of a shim in a pod, which sends no output: its largest
// frames are the starts and the exits of a node's ranks.
constexpr uint32_t kMaxPodPayload = 1u << 20;
// The standard output and standard error of a process.
constexpr size_t kStreamsOfRank = 2;

std::string LossText(const std::string& nspace, const std::string& reason) {
  return "canopy-shim of " + nspace + " is lost: " + reason;
}

}  // namespace

ShimJob::ShimJob(const ProcessContext* context, const core::PrepareLocal& job,
                 OnGone on_gone)
    : context_(context),
      job_(job),
      on_gone_(std::move(on_gone)),
      state_(ShimState::kNew),
      reports_(context),
      credit_(context->options.output_window),
      watch_(context->loop, context->options.shim_answer_ms, WatchEvents()) {
  RankReports::Unreported ranks;
  for (const Rank rank : LocalRanks()) ranks[rank];
  reports_.Begin(nspace(), job_.job->merge_stderr, std::move(ranks));
}

ShimJob::ShimJob(const ProcessContext* context, UniqueFd connection,
                 SocketFile file, OnFound on_found, OnGone on_gone)
    : context_(context),
      on_found_(std::move(on_found)),
      on_gone_(std::move(on_gone)),
      state_(ShimState::kGreeting),
      reporting_(false),
      file_(std::move(file)),
      reports_(context),
      credit_(context->options.output_window),
      watch_(context->loop, context->options.shim_answer_ms, WatchEvents()) {
  credit_.ForgetPosition();
  Connect(std::move(connection));
  channel_->Send(FrameType::kHello, Encode(Hello{}));
}

ShimJob::~ShimJob() {
  *alive_ = false;
  if (channel_ != nullptr) channel_->Flush();
}

bool ShimJob::Advance(ShimEvent event) {
  const Cell<ShimState> cell = StepOf(state_, event);
  state_ = cell.next;
  return cell.verdict == Verdict::kAccept;
}

void ShimJob::Connect(UniqueFd socket) {
  channel_ = std::make_unique<FrameChannel>(
      context_->loop, std::move(socket),
      [this](FrameChannel::Frame& frame) { OnFrame(frame); },
      [this](const std::string& reason) { OnLost(reason); });
}

// -------------------------------------------------------------- prepare ---

std::vector<Rank> ShimJob::LocalRanks() const {
  return job_.layout->ranks_of_agent(context_->options.self);
}

void ShimJob::AllowEnds() {
  credit_.AllowEnds(kStreamsOfRank * LocalRanks().size());
}

void ShimJob::Prepare() {
  if (!Advance(ShimEvent::kPrepare)) return;
  if (reports_.empty()) return ReportPrepared(Status());
  if (Status status = ReservePort(); !status.ok())
    return ReportPrepared(status);
  Result<StartedShim> shim = context_->start_shim(*job_.job);
  if (!shim.ok()) return ReportPrepared(shim.status());
  if (shim->pid > 0) {
    process_.NoteStarted(shim->pid);
  } else {
    reports_.Distrust();
  }
  file_ = std::move(shim->file);
  Connect(std::move(shim->connection));
  if (shim->pid == 0) channel_->set_max_payload(kMaxPodPayload);
  AllowEnds();
  const PrepareJob description = DescribeJob(*context_, job_);
  for (const AppSpec& app : description.apps) {
    finding_keys_.push_back(FindingKey(description, app));
  }
  channel_->Send(FrameType::kPrepare, Encode(description));
  SendRanks();
  channel_->Send(FrameType::kCheck, "");
  channel_->Flush();
}

// Reserves the port of the job's rendezvous, if rank 0 of a job with a
// rendezvous host is on this node.
Status ShimJob::ReservePort() {
  const std::vector<Rank> ranks = LocalRanks();
  if (job_.job->rendezvous_host.empty() || ranks.front() != 0) return Status();
  return port_.Reserve();
}

void ShimJob::ReportPrepared(const Status& status) {
  Advance(status.ok() ? ShimEvent::kPrepared : ShimEvent::kNotPrepared);
  context_->sink->OnInput(
      core::LocalPrepared{nspace(), status.code(), status.message(), {}});
}

// Sends the ranks in several frames, because the number of ranks in a frame is
// limited, and the kernel limits the number of descriptors.
void ShimJob::SendRanks() {
  std::vector<RankSpec> ranks;
  std::vector<UniqueFd> fds;
  const auto send = [&] {
    channel_->Send(FrameType::kRanks, Encode(ranks), Bytes(), std::move(fds));
    ranks.clear();
    fds.clear();
  };
  for (const Rank rank : LocalRanks()) {
    ranks.push_back(DescribeRank(*context_, job_, rank, &fds));
    if (ranks.size() == kRanksPerFrame ||
        fds.size() + kMaxInherited > kMaxFrameFds) {
      send();
    }
  }
  if (!ranks.empty()) send();
}

// ------------------------------------------------------------- requests ---

void ShimJob::Start(uint16_t port) {
  if (!Advance(ShimEvent::kStart)) return;
  if (state_ == ShimState::kFailed) return ReportNotStarted("not prepared");
  if (channel_ == nullptr) {
    Advance(ShimEvent::kStartedFrame);
    return reports_.ReportStart(kSuccess, "");
  }
  // The processes bind the port from now on.
  port_.Release();
  reports_.ReportStarting();
  channel_->Send(FrameType::kStart,
                 port == 0 ? "" : EncodeNames({TorchPortVariable(port)}));
  channel_->Flush();
}

// Starts another process of a rank. It gets no standard input, because the
// rank's former process has consumed it.
void ShimJob::Restart(const core::RestartLocal& restart) {
  reports_.Await(restart.rank, restart.incarnation);
  credit_.AllowEnds(kStreamsOfRank);
  if (channel_ == nullptr || !started()) {
    return reports_.ReportNoProcess(restart.rank);
  }
  std::vector<UniqueFd> fds;
  RestartRank request{restart.incarnation,
                      DescribeRank(*context_, job_, restart.rank, &fds)};
  request.spec.has_stdin = false;
  if (!job_.job->rendezvous_host.empty()) {
    request.spec.env.push_back(TorchRestartVariable(restart.incarnation));
  }
  channel_->Send(FrameType::kRestart, Encode(request), Bytes(), std::move(fds));
}

void ShimJob::ResumeReports() {
  if (std::exchange(reporting_, true)) return;
  if (channel_ == nullptr) return ReportLoss("it ended");
  std::vector<StartedRank> running;
  for (const RankState& rank : ranks_) {
    if (rank.phase != RankPhase::kRunning) continue;
    running.push_back({rank.rank, rank.pid});
  }
  reports_.ReportProcesses(running);
  channel_->Send(FrameType::kResume, "");
  // Input that the predecessor had received but not forwarded was lost. So it
  // is requested again.
  if (job_.job->stdin_target == StdinTarget::kNone) return;
  context_->sink->OnInput(core::LocalInputDone{
      nspace(), 0, input_.position(), /*resend=*/true, input_.given()});
}

void ShimJob::Signal(const core::SignalLocal& signal) {
  if (channel_ == nullptr) return;
  channel_->Send(FrameType::kSignal,
                 Encode(SignalRanks{signal.signal, signal.ranks}));
}

void ShimJob::Kill(const core::KillLocal& kill) {
  if (channel_ == nullptr) return;
  channel_->Send(FrameType::kKill,
                 Encode(KillRanks{kill.grace_ms, kill.ranks}));
  watch_.OnKill(kill.grace_ms);
}

// A shim answers Resume in every state in which it has processes. It repeats
// its reports then, of which each is handled once.
ShimWatch::Events ShimJob::WatchEvents() {
  return {[this] {
            if (channel_ == nullptr || reports_.empty()) return false;
            channel_->Send(FrameType::kResume, "");
            return true;
          },
          [this] {
            process_.KillShim();
            if (channel_ != nullptr) channel_->Fail("it does not answer");
          }};
}

void ShimJob::Credit(const core::CreditOutput& credit) {
  credit_.Add(credit);
  SendCredit();
}

void ShimJob::SendCredit() {
  if (channel_ == nullptr) return;
  const uint64_t bytes = credit_.Take();
  if (bytes > 0) channel_->Send(FrameType::kCredit, EncodeBytes(bytes));
}

void ShimJob::ResendOutput() {
  if (channel_ == nullptr || !reporting_ || !started()) return;
  channel_->Send(FrameType::kResume, "");
}

void ShimJob::SetOrphanTime(uint32_t ms) {
  if (channel_ == nullptr) return;
  channel_->Send(FrameType::kOrphan, EncodeBytes(ms));
  channel_->Flush();
}

void ShimJob::PutText(ProcessText text, TextDone done) {
  if (channel_ == nullptr ||
      StepOf(state_, ShimEvent::kTextTaken).verdict != Verdict::kAccept) {
    return done(kErrNotSupported);
  }
  const auto request = texts_.Put(std::move(text), std::move(done));
  if (request) channel_->Send(FrameType::kText, Encode(*request));
}

void ShimJob::Hold(const std::string& name, UniqueFd fd) {
  if (channel_ != nullptr) ShimFds::Hold(channel_.get(), name, std::move(fd));
}

bool ShimJob::HoldConnections(std::vector<NamedFd> connections) {
  return channel_ != nullptr &&
         fds_.HoldConnections(channel_.get(), std::move(connections));
}

void ShimJob::ReleaseConnection(const std::string& name, bool at_once) {
  if (channel_ == nullptr) return;
  fds_.ReleaseConnection(channel_.get(), name, at_once);
}

void ShimJob::Feed(const core::FeedInput& input) {
  input_.Feed(input);
  SendInput();
}

// Sends queued input. If there is no shim, all input counts as consumed,
// because the sender waits for that.
void ShimJob::SendInput() {
  while (std::optional<core::FeedInput> next = input_.Next()) {
    if (channel_ != nullptr) {
      channel_->Send(FrameType::kInput, EncodeInputHead(next->ranks),
                     next->data);
    } else if (!next->data.empty()) {
      InputDone(next->data.size());
    }
  }
}

void ShimJob::InputDone(uint64_t bytes) {
  input_.Done(bytes);
  context_->sink->OnInput(
      core::LocalInputDone{nspace(), bytes, input_.position()});
}

void ShimJob::Forget() {
  if (!Advance(ShimEvent::kForget)) return;
  input_.Clear();
  if (channel_ == nullptr) {
    if (!replaced()) file_.Remove();
    // The call is deferred, because the caller may use the object after this
    // function.
    return context_->loop->Defer([this, alive = alive_] {
      if (*alive) Gone();
    });
  }
  channel_->Send(FrameType::kForget, "");
  // A successor would find the shim by its socket if this agent died before the
  // frame was sent. If the frame cannot be sent now, the shim removes its
  // socket itself.
  if (channel_->Flush() && !replaced()) file_.Remove();
}

// --------------------------------------------------------------- frames ---

void ShimJob::OnFrame(FrameChannel::Frame& frame) {
  watch_.OnFrame();
  const Verdict verdict = StepOf(state_, ShimEventOf(frame.type)).verdict;
  if (verdict == Verdict::kIgnore) return;
  if (verdict == Verdict::kRefuse || !Handle(frame)) {
    channel_->Fail("the shim broke the protocol");
  }
}

// Each frame changes the state before it is reported, because the answer to a
// report may arrive during the call.
bool ShimJob::Handle(FrameChannel::Frame& frame) {
  switch (frame.type) {
    case FrameType::kWelcome:
      return OnWelcome(frame);
    case FrameType::kHeld:
      return OnHeld(frame);
    case FrameType::kPrepared:
      return OnPrepared(frame.payload);
    case FrameType::kStarted:
      return OnStarted(frame.payload);
    case FrameType::kOutput:
      return OnOutput(frame.payload);
    case FrameType::kExits:
      return reports_.ReportExits(frame.payload);
    case FrameType::kRestarted:
      return OnRestarted(frame.payload);
    case FrameType::kInputDone:
      return OnInputDone(frame.payload);
    case FrameType::kResumed:
      return OnResumed(frame.payload);
    case FrameType::kTextTaken:
      return texts_.OnDone(frame.payload);
    default:
      return Advance(ShimEventOf(frame.type));  // Replaced
  }
}

bool ShimJob::OnHeld(FrameChannel::Frame& frame) {
  std::vector<std::string> names;
  return DecodeNames(frame.payload, &names) &&
         fds_.AddFoundConnections(std::move(names), std::move(frame.fds));
}

bool ShimJob::OnWelcome(FrameChannel::Frame& frame) {
  Welcome welcome;
  if (!Decode(frame.payload, &welcome) ||
      welcome.version != kShimProtocolVersion) {
    return false;
  }
  Result<JobSpec> spec = DecodeJobSpec(welcome.record);
  if (!spec.ok() ||
      !fds_.AddFound(std::move(welcome.held), std::move(frame.fds))) {
    return false;
  }
  job_.job = std::make_shared<const JobSpec>(std::move(*spec));
  job_.layout = std::make_shared<const JobLayout>(*job_.job);
  input_.Recover(welcome.input_taken, welcome.input_done);
  process_.NoteFound(welcome.pid);
  TakeRanks(std::move(welcome.ranks));
  Advance(welcome.started ? ShimEvent::kFoundStarted
                          : ShimEvent::kFoundPrepared);
  on_found_(this, fds_.TakeFound());
  return true;
}

void ShimJob::TakeRanks(std::vector<RankState> ranks) {
  RankReports::Unreported unreported;
  for (const RankState& rank : ranks) {
    const bool runs = rank.phase == RankPhase::kRunning;
    unreported[rank.rank] = {runs ? rank.pid : 0, rank.incarnation};
  }
  ranks_ = std::move(ranks);
  reports_.Begin(nspace(), job_.job->merge_stderr, std::move(unreported));
}

bool ShimJob::OnOutput(std::string_view payload) {
  const uint64_t begin = reports_.output_end();
  return reports_.ReportOutput(payload) &&
         credit_.OnReport(begin, reports_.output_end());
}

bool ShimJob::OnPrepared(std::string_view payload) {
  Prepared m;
  if (!Decode(payload, &m)) return false;
  Advance(m.status == kSuccess ? ShimEvent::kPrepared
                               : ShimEvent::kNotPrepared);
  const size_t found = std::min(m.findings.size(), finding_keys_.size());
  for (size_t i = 0; i < found; ++i) {
    context_->findings->Put(finding_keys_[i], m.findings[i]);
  }
  context_->sink->OnInput(core::LocalPrepared{nspace(), m.status, m.text,
                                              NotesOf(m.findings, job_.explain),
                                              port_.number()});
  return true;
}

bool ShimJob::OnStarted(std::string_view payload) {
  Started m;
  if (!Decode(payload, &m)) return false;
  Advance(ShimEvent::kStartedFrame);
  return reports_.ReportStarted(std::move(m));
}

bool ShimJob::OnRestarted(std::string_view payload) {
  Started m;
  return Decode(payload, &m) && reports_.ReportRestarted(std::move(m));
}

bool ShimJob::OnInputDone(std::string_view payload) {
  uint64_t bytes = 0;
  if (!DecodeBytes(payload, &bytes)) return false;
  InputDone(bytes);
  SendInput();
  return true;
}

bool ShimJob::OnResumed(std::string_view payload) {
  uint64_t acknowledged = 0;
  if (!DecodeBytes(payload, &acknowledged)) return false;
  reports_.SetOutputPosition(acknowledged);
  credit_.SetPosition(acknowledged);
  AllowEnds();
  SendCredit();
  return true;
}

// ----------------------------------------------------------------- loss ---

void ShimJob::OnLost(const std::string& reason) {
  channel_.reset();
  switch (state_) {
    case ShimState::kGreeting:
    case ShimState::kForgotten:
    case ShimState::kLeft:
      return Gone();
    case ShimState::kReplaced:
      return;
    default:
      break;
  }
  // After the loss of the shim, only this agent can end the processes and
  // remove the socket.
  process_.KillJob(nspace(), reports_.Groups());
  file_.Remove();
  texts_.FailAll(kErrNotSupported);
  if (reporting_) ReportLoss(reason);
}

void ShimJob::ReportLoss(const std::string& reason) {
  const ShimState before = state_;
  Advance(ShimEvent::kLost);
  if (before == ShimState::kPreparing) {
    return ReportPrepared(
        Status(kErrJobFailedToLaunch, LossText(nspace(), reason)));
  }
  if (before == ShimState::kStarting) return ReportNotStarted(reason);
  if (before != ShimState::kStarted) return;
  reports_.ReportLoss(LocalRanks());
  SendInput();
}

// Reports that the job was not started, and that its ranks have ended, as after
// the loss of a shim.
void ShimJob::ReportNotStarted(const std::string& reason) {
  reports_.ReportStart(kErrJobFailedToLaunch, LossText(nspace(), reason));
  reports_.ReportLoss(LocalRanks());
  SendInput();
}

void ShimJob::Gone() {
  // The callback is copied, because it may destroy this object.
  const OnGone on_gone = on_gone_;
  on_gone(this);
}

}  // namespace canopy::process
