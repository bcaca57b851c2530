#include "server/process/shim_job.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "server/process/finding_cache.h"
#include "server/process/job_processes.h"
#include "server/process/program_notes.h"
#include "server/process/shim_description.h"
#include "server/process/shim_start.h"

namespace canopy::process {
namespace {

constexpr size_t kRanksPerFrame = 256;
constexpr size_t kErrorsInText = 3;
// Released connections that are sent to the shim in one batch.
constexpr size_t kReleaseAtOnce = 64;

std::string Summarize(const std::vector<StartError>& errors) {
  std::string text;
  for (size_t i = 0; i < errors.size() && i < kErrorsInText; ++i) {
    if (i > 0) text += "; ";
    text += "rank " + std::to_string(errors[i].rank) + ": " + errors[i].text;
  }
  if (errors.size() > kErrorsInText) {
    text += "; and " + std::to_string(errors.size() - kErrorsInText) + " more";
  }
  return text;
}

// An agent that another program has taken the place of has left its children.
bool IsChild(int pid) {
  siginfo_t info;
  return waitid(P_PID, static_cast<id_t>(pid), &info,
                WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

ShimJob::ShimJob(const ProcessContext* context, const core::PrepareLocal& job,
                 OnGone on_gone)
    : context_(context),
      job_(job),
      on_gone_(std::move(on_gone)),
      phase_(Phase::kNew) {
  for (const Rank rank : LocalRanks()) unreported_.emplace(rank, 0);
}

ShimJob::ShimJob(const ProcessContext* context, UniqueFd connection,
                 SocketFile file, OnFound on_found, OnGone on_gone)
    : context_(context),
      on_found_(std::move(on_found)),
      on_gone_(std::move(on_gone)),
      phase_(Phase::kGreeting),
      reporting_(false),
      file_(std::move(file)) {
  credit_.ForgetPosition();
  Connect(std::move(connection));
  channel_->Send(FrameType::kHello, Encode(Hello{}));
}

ShimJob::~ShimJob() {
  *alive_ = false;
  if (channel_ != nullptr) channel_->Flush();
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

void ShimJob::Prepare() {
  phase_ = Phase::kPreparing;
  if (unreported_.empty()) {
    phase_ = Phase::kPrepared;
    return context_->sink->OnInput(core::LocalPrepared{nspace(), 0, "", {}});
  }
  Result<StartedShim> shim =
      StartShim(context_->options.shim_path, context_->runtime_dir.get(),
                nspace(), context_->options.open_files);
  if (!shim.ok()) return PrepareFailed(shim.status());
  child_pid_ = shim->pid;
  NoteShim(shim->pid);
  file_ = std::move(shim->file);
  Connect(std::move(shim->connection));
  const PrepareJob description = DescribeJob(*context_, job_);
  for (const AppSpec& app : description.apps) {
    finding_keys_.push_back(FindingKey(description, app));
  }
  channel_->Send(FrameType::kPrepare, Encode(description));
  SendRanks();
  channel_->Send(FrameType::kCheck, "");
  channel_->Flush();
}

void ShimJob::PrepareFailed(const Status& status) {
  phase_ = Phase::kLost;
  context_->sink->OnInput(
      core::LocalPrepared{nspace(), status.code(), status.message(), {}});
}

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

void ShimJob::Start() {
  if (phase_ == Phase::kStarting || phase_ == Phase::kStarted) return;
  if (phase_ != Phase::kPrepared) {
    phase_ = Phase::kStarting;
    return ReportLoss("not prepared");
  }
  phase_ = Phase::kStarting;
  if (channel_ == nullptr) {
    phase_ = Phase::kStarted;
    return context_->sink->OnInput(core::LocalStarted{nspace(), 0, 0, ""});
  }
  channel_->Send(FrameType::kStart, "");
  channel_->Flush();
}

void ShimJob::ResumeReports() {
  if (std::exchange(reporting_, true)) return;
  if (channel_ == nullptr) return ReportLoss("it ended");
  std::vector<StartedRank> running;
  for (const RankState& rank : ranks_) {
    if (rank.phase != RankPhase::kRunning) continue;
    running.push_back({rank.rank, rank.pid});
  }
  NoteProcesses(running);
  channel_->Send(FrameType::kResume, "");
  const std::optional<uint64_t> fed = input_.position();
  if (!fed || job_.job->stdin_target == StdinTarget::kNone) return;
  context_->sink->OnInput(
      core::LocalInputDone{nspace(), 0, *fed, /*resend=*/true});
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
  if (channel_ == nullptr || !reporting_ || phase_ != Phase::kStarted) return;
  channel_->Send(FrameType::kResume, "");
}

void ShimJob::SetOrphanTime(uint32_t ms) {
  if (channel_ == nullptr) return;
  channel_->Send(FrameType::kOrphan, EncodeBytes(ms));
  channel_->Flush();
}

void ShimJob::PutText(ProcessText text, TextDone done) {
  const bool there = phase_ == Phase::kStarting || phase_ == Phase::kStarted;
  if (channel_ == nullptr || !there || version_ < 4) {
    return done(kErrNotSupported);
  }
  const auto request = texts_.Put(std::move(text), std::move(done));
  if (request) channel_->Send(FrameType::kText, Encode(*request));
}

void ShimJob::Hold(const std::string& name, UniqueFd fd) {
  if (channel_ == nullptr) return;
  std::vector<UniqueFd> fds;
  fds.push_back(std::move(fd));
  channel_->Send(FrameType::kHold, EncodeName(name), Bytes(), std::move(fds));
  // From here on it outlives this process.
  channel_->Flush();
}

bool ShimJob::HoldConnections(std::vector<NamedFd> connections) {
  // The shim has the same limit, and pipes to its processes besides.
  static const size_t most = [] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return std::min<size_t>(limit.rlim_max / 2, kMaxConnections);
  }();
  const bool open = std::ranges::all_of(
      connections, [](const NamedFd& held) { return bool{held.fd}; });
  if (channel_ == nullptr || version_ < 2 || !open ||
      num_connections_ + connections.size() > most) {
    return false;
  }
  num_connections_ += connections.size();
  while (!connections.empty()) SendHeld(&connections);
  SendReleases();
  return true;
}

// As many of the last as go with one frame.
void ShimJob::SendHeld(std::vector<NamedFd>* connections) {
  std::vector<std::string> names;
  std::vector<UniqueFd> fds;
  while (!connections->empty() && fds.size() < kMaxFrameFds) {
    names.push_back(std::move(connections->back().name));
    fds.push_back(std::move(connections->back().fd));
    connections->pop_back();
  }
  channel_->Send(FrameType::kHoldMany, EncodeNames(names), Bytes(),
                 std::move(fds));
}

void ShimJob::ReleaseConnection(const std::string& name, bool at_once) {
  if (channel_ == nullptr) return;
  to_release_.push_back(name);
  if (at_once || to_release_.size() >= kReleaseAtOnce) SendReleases();
}

void ShimJob::SendReleases() {
  if (!to_release_.empty()) {
    num_connections_ -= std::min(num_connections_, to_release_.size());
    channel_->Send(FrameType::kRelease,
                   EncodeNames(std::exchange(to_release_, {})));
  }
  channel_->Flush();
}

void ShimJob::Feed(const core::FeedInput& input) {
  input_.Feed(input);
  SendInput();
}

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
      core::LocalInputDone{nspace(), bytes, input_.position().value_or(0)});
}

void ShimJob::Forget() {
  const Phase before = std::exchange(phase_, Phase::kForgotten);
  if (before == Phase::kForgotten) return;
  if (before != Phase::kReplaced) file_.Remove();
  input_.Clear();
  if (channel_ == nullptr) {
    return context_->loop->Defer([this, alive = alive_] {
      if (*alive) Gone();
    });
  }
  channel_->Send(FrameType::kForget, "");
}

// --------------------------------------------------------------- frames ---

void ShimJob::OnFrame(FrameChannel::Frame& frame) {
  if (phase_ == Phase::kForgotten || phase_ == Phase::kReplaced) return;
  if (!Handle(frame)) channel_->Fail("the shim broke the protocol");
}

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
      return OnExits(frame.payload);
    case FrameType::kInputDone:
      return OnInputDone(frame.payload);
    case FrameType::kResumed:
      return OnResumed(frame.payload);
    case FrameType::kTextTaken:
      return texts_.OnDone(frame.payload);
    case FrameType::kReplaced:
      phase_ = Phase::kReplaced;
      return true;
    default:
      return false;
  }
}

bool ShimJob::OnHeld(FrameChannel::Frame& frame) {
  std::vector<std::string> names;
  if (phase_ != Phase::kGreeting || !DecodeNames(frame.payload, &names) ||
      names.size() != frame.fds.size()) {
    return false;
  }
  num_connections_ += names.size();
  for (size_t i = 0; i < names.size(); ++i) {
    found_held_.push_back({std::move(names[i]), std::move(frame.fds[i])});
  }
  return true;
}

bool ShimJob::OnWelcome(FrameChannel::Frame& frame) {
  Welcome welcome;
  if (phase_ != Phase::kGreeting || !Decode(frame.payload, &welcome) ||
      welcome.version < kOldestShimProtocol ||
      welcome.version > kShimProtocolVersion ||
      welcome.held.size() != frame.fds.size()) {
    return false;
  }
  Result<JobSpec> spec = DecodeJobSpec(welcome.record);
  if (!spec.ok()) return false;
  job_.job = std::make_shared<const JobSpec>(std::move(*spec));
  job_.layout = std::make_shared<const JobLayout>(*job_.job);
  version_ = welcome.version;
  if (version_ < 3) {
    input_.RecoverUnknown();
  } else {
    input_.Recover(welcome.input_taken, welcome.input_done);
  }
  NoteShim(welcome.pid);
  if (IsChild(shim_pid_)) child_pid_ = shim_pid_;
  ranks_ = std::move(welcome.ranks);
  for (const RankState& rank : ranks_) {
    const bool runs = rank.phase == RankPhase::kRunning;
    unreported_.emplace(rank.rank, runs ? rank.pid : 0);
  }
  phase_ = welcome.started ? Phase::kStarted : Phase::kPrepared;
  std::vector<NamedFd> held = std::exchange(found_held_, {});
  for (size_t i = 0; i < welcome.held.size(); ++i) {
    held.push_back({std::move(welcome.held[i]), std::move(frame.fds[i])});
  }
  on_found_(this, std::move(held));
  return true;
}

bool ShimJob::OnPrepared(std::string_view payload) {
  Prepared m;
  if (phase_ != Phase::kPreparing || !Decode(payload, &m)) return false;
  if (m.status == 0) phase_ = Phase::kPrepared;
  const size_t found = std::min(m.findings.size(), finding_keys_.size());
  for (size_t i = 0; i < found; ++i) {
    context_->findings->Put(finding_keys_[i], m.findings[i]);
  }
  context_->sink->OnInput(core::LocalPrepared{
      nspace(), m.status, m.text, NotesOf(m.findings, job_.explain)});
  return true;
}

void ShimJob::NoteProcesses(const std::vector<StartedRank>& ranks) {
  for (const StartedRank& rank : ranks) {
    for (ProcessEnvironment* environment : context_->environments) {
      environment->OnProcess(nspace(), rank.rank, rank.pid);
    }
  }
}

bool ShimJob::OnStarted(std::string_view payload) {
  Started m;
  if (phase_ != Phase::kStarting || !Decode(payload, &m)) return false;
  phase_ = Phase::kStarted;
  for (const StartedRank& rank : m.ranks) {
    const auto it = unreported_.find(rank.rank);
    if (it != unreported_.end()) it->second = rank.pid;
  }
  NoteProcesses(m.ranks);
  core::LocalStarted started;
  started.nspace = nspace();
  started.procs = static_cast<uint32_t>(m.ranks.size());
  if (!m.errors.empty()) {
    started.status = m.errors[0].status;
    started.text = Summarize(m.errors);
  }
  context_->sink->OnInput(std::move(started));
  return true;
}

bool ShimJob::OnOutput(std::string_view payload) {
  core::LocalOutput output;
  std::string_view data;
  if (!DecodeOutput(payload, &output.rank, &output.channel, &data)) {
    return false;
  }
  output.nspace = nspace();
  if (!data.empty()) output.data = Bytes(std::string(data));
  output.end = output_end_ += data.size();
  context_->sink->OnInput(std::move(output));
  return true;
}

bool ShimJob::OnExits(std::string_view payload) {
  std::vector<ExitedRank> ranks;
  if (!Decode(payload, &ranks)) return false;
  core::LocalExits exits;
  exits.nspace = nspace();
  for (const ExitedRank& rank : ranks) {
    if (unreported_.erase(rank.rank) == 0) continue;
    core::ProcExit exit;
    exit.rank = rank.rank;
    exit.wait_status = rank.wait_status;
    exit.core_dumped =
        WIFSIGNALED(rank.wait_status) && WCOREDUMP(rank.wait_status);
    exits.exits.push_back(exit);
  }
  if (!exits.exits.empty()) context_->sink->OnInput(std::move(exits));
  return true;
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
  output_end_ = acknowledged;
  credit_.SetPosition(acknowledged);
  SendCredit();
  return true;
}

// ----------------------------------------------------------------- loss ---

void ShimJob::OnLost(const std::string& reason) {
  channel_.reset();
  if (phase_ == Phase::kForgotten || phase_ == Phase::kGreeting) {
    return Gone();
  }
  if (phase_ == Phase::kReplaced) return;
  KillWhatIsLeft();
  file_.Remove();
  texts_.FailAll(kErrNotSupported);
  if (reporting_) ReportLoss(reason);
}

void ShimJob::NoteShim(int pid) {
  shim_pid_ = pid;
  session_ = getsid(pid);
}

void ShimJob::KillWhatIsLeft() const {
  JobProcesses left;
  left.mark = JobMark(nspace(), shim_pid_);
  left.session_of_shim = session_ == shim_pid_ ? session_ : 0;
  left.session = session_;
  for (const auto& [rank, pid] : unreported_) {
    if (pid > 1) left.groups.insert(pid);
  }
  KillProcesses(left);
}

void ShimJob::Gone() {
  // A copy, because the call may destroy this object.
  const OnGone on_gone = on_gone_;
  on_gone(this);
}

// The lost shim's pipes are dead. An end may be reported twice.
void ShimJob::EndStreams() {
  for (const Rank rank : LocalRanks()) {
    for (const uint16_t channel : {kChannelStdout, kChannelStderr}) {
      if (channel == kChannelStderr && job_.job->merge_stderr) continue;
      context_->sink->OnInput(
          core::LocalOutput{nspace(), rank, channel, Bytes()});
    }
  }
}

void ShimJob::ReportLoss(const std::string& reason) {
  const std::string text = "canopy-shim of " + nspace() + " is lost: " + reason;
  const Phase before = std::exchange(phase_, Phase::kLost);
  if (before == Phase::kPreparing) {
    return PrepareFailed(Status(kErrJobFailedToLaunch, text));
  }
  if (before == Phase::kStarting) {
    context_->sink->OnInput(
        core::LocalStarted{nspace(), 0, kErrJobFailedToLaunch, text});
  }
  if (before != Phase::kStarting && before != Phase::kStarted) return;
  EndStreams();
  core::LocalExits exits;
  exits.nspace = nspace();
  for (const auto& [rank, pid] : unreported_) {
    core::ProcExit exit;
    exit.rank = rank;
    exit.wait_status = SIGKILL;
    exits.exits.push_back(exit);
  }
  unreported_.clear();
  std::sort(exits.exits.begin(), exits.exits.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  if (!exits.exits.empty()) context_->sink->OnInput(std::move(exits));
  SendInput();
}

}  // namespace canopy::process
