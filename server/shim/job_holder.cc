#include "server/shim/job_holder.h"

#include <signal.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/shim/children.h"

namespace canopy::process {
namespace {

constexpr int64_t kMillisecond = 1000000;
// The longest time that a process's exit waits for streams that other processes
// hold open.
constexpr int64_t kStreamWaitNs = 1000 * kMillisecond;

// Returns true if the frame ends the whole job, so that no further process
// needs to be started.
bool EndsJob(FrameType type, std::string_view payload) {
  if (type == FrameType::kForget) return true;
  KillRanks kill;
  return type == FrameType::kKill && Decode(payload, &kill) &&
         kill.ranks.empty();
}

}  // namespace

JobHolder::JobHolder(EventLoop* loop, Sockets sockets, rlimit nofile,
                     Hooks hooks)
    : loop_(loop),
      file_(std::move(sockets.file)),
      nofile_(nofile),
      hooks_(std::move(hooks)),
      agent_(loop, std::move(sockets.agent), std::move(sockets.listener),
             {[this](Frame& frame) { return OnFrame(frame); },
              [this] { OnNewAgent(); }, [this] { OnAgentLost(); }}),
      reports_(loop, [this](FrameType type, const std::string& payload) {
        agent_.Send(type, payload);
      }) {}

// --------------------------------------------------------------- states ---

void JobHolder::Advance(HolderEvent event) {
  const HolderState before = std::exchange(state_, StepOf(state_, event).next);
  if (state_ == before) return;
  if (state_ == HolderState::kEnding) BeginEnd();
  if (state_ == HolderState::kForcing) ForceEnd();
}

void JobHolder::BeginEnd() {
  agent_.StopListening();
  file_.Remove();
  texts_.reset();
  pump_.reset();
  feed_.reset();
  SignalChildren(SIGTERM);
  // A stopped process handles SIGTERM only after SIGCONT.
  SignalChildren(SIGCONT);
  const uint32_t grace_ms = starter_ == nullptr ? 0 : starter_->job().grace_ms;
  loop_->AddTimer(grace_ms * kMillisecond,
                  [this] { Advance(HolderEvent::kGraceOver); });
  loop_->Defer([this] { OnChildSignal(); });
}

void JobHolder::ForceEnd() { SignalChildren(SIGKILL); }

// --------------------------------------------------------------- agents ---

void JobHolder::OnNewAgent() {
  reports_.Pause();
  if (pump_ != nullptr) pump_->Pause();
  if (texts_ != nullptr) texts_->OnNewAgent();
  loop_->CancelTimer(std::exchange(orphan_timer_, 0));
  SendWelcome();
}

void JobHolder::OnAgentLost() {
  if (hooks_.lost && state_ < HolderState::kEnding) hooks_.lost();
  reports_.Pause();
  if (pump_ != nullptr) pump_->Pause();
  if (orphan_ms_ == 0) return Advance(HolderEvent::kOrphaned);
  orphan_timer_ =
      loop_->AddTimer(static_cast<int64_t>(orphan_ms_) * kMillisecond,
                      [this] { Advance(HolderEvent::kOrphaned); });
}

void JobHolder::SendWelcome() {
  // The connections are sent in separate frames, because one frame may be too
  // small.
  held_.ForEachConnections([this](NamedFds connections) {
    agent_.Send(FrameType::kHeld, EncodeNames(connections.names), Bytes(),
                std::move(connections.fds));
  });
  Welcome welcome;
  welcome.pid = getpid();
  welcome.started = state_ == HolderState::kStarted;
  if (starter_ != nullptr) {
    welcome.nspace = starter_->job().nspace;
    welcome.record = starter_->job().record;
  }
  welcome.ranks = processes_.States();
  welcome.input_taken = reports_.input_taken();
  welcome.input_done = reports_.TakeInputDone();
  NamedFds held = held_.Held();
  welcome.held = std::move(held.names);
  agent_.Send(FrameType::kWelcome, Encode(welcome), Bytes(),
              std::move(held.fds));
}

// --------------------------------------------------------------- frames ---

bool JobHolder::OnFrame(Frame& frame) {
  const HolderEvent event = HolderEventOf(frame.type);
  const Verdict verdict = StepOf(state_, event).verdict;
  if (verdict != Verdict::kAccept) return verdict == Verdict::kIgnore;
  if (!Handle(frame)) return false;
  Advance(event);
  return true;
}

bool JobHolder::Handle(Frame& frame) {
  switch (frame.type) {
    case FrameType::kHello:
      SendWelcome();
      return true;
    case FrameType::kPrepare:
      return HandlePrepare(frame);
    case FrameType::kRanks:
      return HandleRanks(frame);
    case FrameType::kCheck:
      HandleCheck();
      return true;
    case FrameType::kStart:
      return HandleStart(frame);
    case FrameType::kRestart:
      return HandleRestart(frame);
    case FrameType::kResume:
      HandleResume();
      return true;
    case FrameType::kSignal:
      return HandleSignal(frame);
    case FrameType::kKill:
      return HandleKill(frame);
    case FrameType::kInput:
      return HandleInput(frame);
    case FrameType::kCredit:
      return HandleCredit(frame);
    case FrameType::kText:
      return HandleText(frame);
    case FrameType::kHold:
      return HandleHold(frame);
    case FrameType::kHoldMany:
      return HandleHoldMany(frame);
    case FrameType::kRelease:
      return HandleRelease(frame);
    case FrameType::kOrphan:
      return HandleOrphan(frame);
    default:
      // The only effect of Forget is the transition to another state.
      return frame.type == FrameType::kForget;
  }
}

bool JobHolder::HandlePrepare(Frame& frame) {
  PrepareJob job;
  if (!Decode(frame.payload, &job)) return false;
  const uint64_t window = job.window;
  orphan_ms_ = job.orphan_ms;
  if (hooks_.adapt) hooks_.adapt(&job);
  starter_ = std::make_unique<ProcessStarter>(std::move(job), nofile_);
  MakePump(window);
  feed_ = std::make_unique<InputFeed>(
      loop_, [this](uint64_t bytes) { reports_.AddInputDone(bytes); });
  reports_.Resume();
  pump_->Resume();
  return true;
}

void JobHolder::MakePump(uint64_t window) {
  pump_ = std::make_unique<OutputPump>(
      loop_, window,
      [this](Rank rank, uint16_t channel, Bytes data) {
        EmitOutput(rank, channel, std::move(data));
      },
      [this](Rank rank, uint16_t channel) {
        texts_->OnStreamEnding(rank, channel);
      },
      [this](Rank rank) {
        LocalProcess& process = processes_.of_rank(rank);
        if (process.phase == RankPhase::kEnded) MakeReportable(&process);
      });
  texts_ = std::make_unique<ProcessTexts>(
      loop_, pump_.get(), [this](Rank rank) { return MergesStderr(rank); });
}

// Only the ends of streams concern the agent if the output itself stays here.
void JobHolder::EmitOutput(Rank rank, uint16_t channel, Bytes data) {
  if (!hooks_.output || data.empty()) {
    if (!agent_.connected()) return;
    return agent_.Send(FrameType::kOutput, EncodeOutputHead(rank, channel),
                       std::move(data));
  }
  emitted_ += data.size();
  if (emitted_ <= taken_) return;
  taken_ = emitted_;
  hooks_.output(rank, channel, std::move(data));
}

void JobHolder::OnOutputTaken(uint64_t bytes) {
  if (pump_ != nullptr) pump_->Credit(bytes);
}

bool JobHolder::MergesStderr(Rank rank) const {
  const PrepareJob& job = starter_->job();
  if (job.merge_stderr) return true;
  const LocalProcess* const process = processes_.Find(rank);
  return process != nullptr && process->spec.app < job.apps.size() &&
         job.apps[process->spec.app].merge_stderr;
}

bool JobHolder::HandleRanks(Frame& frame) {
  std::vector<RankSpec> ranks;
  return Decode(frame.payload, &ranks) &&
         processes_.Add(std::move(ranks), frame.fds);
}

void JobHolder::HandleCheck() {
  const Prepared prepared = starter_->Check(processes_.all());
  if (prepared.status == kSuccess) Advance(HolderEvent::kCheckPassed);
  agent_.Send(FrameType::kPrepared, Encode(prepared));
}

bool JobHolder::HandleStart(Frame& frame) {
  if (!frame.payload.empty() && !DecodeNames(frame.payload, &variables_)) {
    return false;
  }
  for (LocalProcess& process : processes_.all()) {
    process.spec.env.insert(process.spec.env.end(), variables_.begin(),
                            variables_.end());
  }
  const auto stopped = [this] { return agent_.HasWaiting(EndsJob); };
  agent_.Send(FrameType::kStarted,
              Encode(starter_->Start(&processes_.all(), stopped, pump_.get(),
                                     feed_.get())));
  processes_.NoteStarted();
  // Reports the end of processes that could not be started, or that ended
  // before NoteStarted indexed them.
  for (LocalProcess& process : processes_.all()) {
    if (process.phase != RankPhase::kRunning) OnEnded(&process);
  }
  OnChildSignal();
  return true;
}

// Starts another process of a rank. The exit of the previous process is no
// longer reported.
bool JobHolder::HandleRestart(Frame& frame) {
  RestartRank restart;
  if (!Decode(frame.payload, &restart)) return false;
  LocalProcess* const process =
      processes_.Replace(std::move(restart), frame.fds);
  if (process == nullptr) return true;
  process->spec.env.insert(process->spec.env.end(), variables_.begin(),
                           variables_.end());
  pump_->Drop(process->spec.rank);
  agent_.Send(FrameType::kRestarted,
              Encode(starter_->StartAgain(process, pump_.get(), feed_.get())));
  if (process->phase != RankPhase::kRunning) {
    OnEnded(process);
    return true;
  }
  processes_.NoteStarted();
  OnChildSignal();
  return true;
}

void JobHolder::HandleResume() {
  emitted_ = pump_->acknowledged();
  agent_.Send(FrameType::kResumed, EncodeBytes(hooks_.output ? 0 : emitted_));
  pump_->Resume();
  reports_.Resume();
  for (LocalProcess& process : processes_.all()) {
    if (process.reportable) MakeReportable(&process);
  }
}

bool JobHolder::HandleSignal(Frame& frame) {
  SignalRanks m;
  if (!Decode(frame.payload, &m) || m.signal < 0 || m.signal >= NSIG) {
    return false;
  }
  processes_.Signal(m.ranks, m.signal);
  return true;
}

bool JobHolder::HandleKill(Frame& frame) {
  KillRanks m;
  if (!Decode(frame.payload, &m)) return false;
  if (m.grace_ms == 0) {
    processes_.Kill(m.ranks);
    return true;
  }
  processes_.Signal(m.ranks, SIGTERM);
  processes_.Signal(m.ranks, SIGCONT);
  loop_->AddTimer(m.grace_ms * kMillisecond,
                  [this, ranks = m.ranks] { processes_.Kill(ranks); });
  return true;
}

bool JobHolder::HandleInput(Frame& frame) {
  std::vector<Rank> ranks;
  std::string_view data;
  if (!DecodeInput(frame.payload, &ranks, &data) ||
      feed_->pending() + data.size() > kMaxPendingInput) {
    return false;
  }
  reports_.AddInputTaken(data.size());
  feed_->Feed(ranks, data);
  return true;
}

bool JobHolder::HandleCredit(Frame& frame) {
  uint64_t bytes = 0;
  if (!DecodeBytes(frame.payload, &bytes)) return false;
  pump_->Credit(bytes);
  return true;
}

bool JobHolder::HandleText(Frame& frame) {
  TextRequest request;
  if (!Decode(frame.payload, &request)) return false;
  const int status = texts_->Take(std::move(request));
  agent_.Send(FrameType::kTextTaken, Encode(TextTaken{status}));
  return true;
}

bool JobHolder::HandleHold(Frame& frame) {
  std::string name;
  return DecodeName(frame.payload, &name) && frame.fds.size() == 1 &&
         held_.Hold(name, std::move(frame.fds[0]));
}

bool JobHolder::HandleHoldMany(Frame& frame) {
  NamedFds connections;
  if (!DecodeNames(frame.payload, &connections.names)) return false;
  connections.fds = std::move(frame.fds);
  return held_.HoldConnections(std::move(connections));
}

bool JobHolder::HandleRelease(Frame& frame) {
  std::vector<std::string> names;
  if (!DecodeNames(frame.payload, &names)) return false;
  held_.ReleaseConnections(names);
  return true;
}

bool JobHolder::HandleOrphan(Frame& frame) {
  return DecodeBytes(frame.payload, &orphan_ms_) && orphan_ms_ <= UINT32_MAX;
}

// ----------------------------------------------------------------- ends ---

void JobHolder::ForwardSignal(int number) {
  if (state_ != HolderState::kStarted) return OnTerminate();
  processes_.Signal({}, number);
}

void JobHolder::OnChildSignal() {
  const bool ending = state_ >= HolderState::kEnding;
  bool none_left = false;
  for (const Reaped& reaped : ReapChildren(&none_left)) {
    LocalProcess* const process = processes_.NoteEnd(reaped);
    if (process == nullptr) continue;
    if (!ending) {
      OnEnded(process);
    } else if (hooks_.ended) {
      hooks_.ended(process->spec.rank, process->wait_status);
    }
  }
  if (!ending) return;
  if (none_left) return loop_->Stop();
  // Orphans of the killed processes have become children of the shim, so they
  // are killed too.
  if (state_ == HolderState::kForcing) ForceEnd();
}

void JobHolder::OnEnded(LocalProcess* process) {
  if (hooks_.ended) hooks_.ended(process->spec.rank, process->wait_status);
  feed_->Close(process->spec.rank);
  // This call may end the streams. The pump then reports their end, which makes
  // the exit reportable.
  pump_->ProcessEnded(process->spec.rank);
  if (process->reportable) return;
  if (pump_->IsOpen(process->spec.rank)) {
    WaitForStreams(process);
  } else {
    MakeReportable(process);
  }
}

void JobHolder::WaitForStreams(LocalProcess* process) {
  const uint32_t incarnation = process->incarnation;
  loop_->AddTimer(kStreamWaitNs, [this, process, incarnation] {
    if (pump_ == nullptr || process->reportable ||
        process->incarnation != incarnation) {
      return;
    }
    if (pump_->IsHeldBack(process->spec.rank)) return WaitForStreams(process);
    MakeReportable(process);
  });
}

void JobHolder::MakeReportable(LocalProcess* process) {
  process->reportable = true;
  reports_.AddExit({process->spec.rank, process->wait_status,
                    process->incarnation, process->used});
}

}  // namespace canopy::process
