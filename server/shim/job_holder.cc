#include "server/shim/job_holder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "server/shim/children.h"

namespace canopy::process {
namespace {

constexpr int64_t kMillisecond = 1000000;
// How long the exit of a process waits for streams that others hold open.
constexpr int64_t kStreamWaitNs = 1000 * kMillisecond;
// Received descriptors are moved above those that processes inherit (3, 4,
// ...), so that placing one never covers another.
constexpr int kLowestReceivedFd = 32;

bool PeerIsTrusted(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

UniqueFd Duplicate(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, kLowestReceivedFd));
}

}  // namespace

JobHolder::JobHolder(EventLoop* loop, Sockets sockets, rlimit nofile)
    : loop_(loop), sockets_(std::move(sockets)), nofile_(nofile) {
  agent_ = NewPeer(std::move(sockets_.agent));
  loop_->Watch(sockets_.listener.get(), EPOLLIN,
               [this](uint32_t) { OnConnection(); });
}

JobHolder::~JobHolder() {
  if (sockets_.listener) loop_->Unwatch(sockets_.listener.get());
}

// ---------------------------------------------------------- connections ---

JobHolder::Peer JobHolder::NewPeer(UniqueFd socket) {
  const uint64_t id = next_peer_++;
  return {id, std::make_unique<FrameChannel>(
                  loop_, std::move(socket),
                  [this, id](Frame& frame) { OnFrame(id, frame); },
                  [this, id](const std::string&) { OnClosed(id); })};
}

void JobHolder::OnConnection() {
  UniqueFd socket(accept4(sockets_.listener.get(), nullptr, nullptr,
                          SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket || !PeerIsTrusted(socket.get())) return;
  candidate_ = NewPeer(std::move(socket));
}

void JobHolder::OnFrame(uint64_t peer, Frame& frame) {
  if (ending_) return;
  if (peer == candidate_.id) return Greet(frame);
  if (!Handle(frame)) agent_.channel->Fail("the agent broke the protocol");
}

void JobHolder::OnClosed(uint64_t peer) {
  if (peer == candidate_.id) candidate_ = {};
  if (peer == agent_.id) OnAgentLost();
}

void JobHolder::Greet(Frame& frame) {
  Hello hello;
  if (frame.type != FrameType::kHello || !Decode(frame.payload, &hello)) {
    return candidate_.channel->Fail("no greeting");
  }
  if (agent_.channel != nullptr) {
    Send(FrameType::kReplaced, "");
    agent_.channel->Flush();
  }
  agent_ = std::exchange(candidate_, {});
  version_ = std::min(hello.version, kShimProtocolVersion);
  flowing_ = false;
  if (pump_ != nullptr) pump_->Pause();
  if (texts_ != nullptr) texts_->OnNewAgent();
  loop_->CancelTimer(std::exchange(orphan_timer_, 0));
  SendWelcome();
}

void JobHolder::OnAgentLost() {
  agent_ = {};
  flowing_ = false;
  if (pump_ != nullptr) pump_->Pause();
  if (ending_) return;
  if (orphan_ms_ == 0) return BeginEnd();
  orphan_timer_ = loop_->AddTimer(
      static_cast<int64_t>(orphan_ms_) * kMillisecond, [this] { BeginEnd(); });
}

void JobHolder::Send(FrameType type, const std::string& head) {
  if (agent_.channel != nullptr) agent_.channel->Send(type, head);
}

// In frames of their own, since there may be more than one can carry.
void JobHolder::SendConnections() {
  std::vector<std::string> names;
  std::vector<UniqueFd> fds;
  const auto send = [&] {
    if (names.empty()) return;
    agent_.channel->Send(FrameType::kHeld, EncodeNames(names), Bytes(),
                         std::move(fds));
    names.clear();
    fds.clear();
  };
  for (const auto& [name, fd] : connections_) {
    UniqueFd copy = Duplicate(fd.get());
    if (!copy) continue;
    names.push_back(name);
    fds.push_back(std::move(copy));
    if (fds.size() == kMaxFrameFds) send();
  }
  send();
}

void JobHolder::SendWelcome() {
  if (version_ >= 2) SendConnections();
  Welcome welcome;
  welcome.version = version_;
  welcome.pid = getpid();
  welcome.started = started_;
  if (starter_ != nullptr) {
    welcome.nspace = starter_->job().nspace;
    welcome.record = starter_->job().record;
  }
  for (const LocalProcess& p : processes_) {
    welcome.ranks.push_back({p.spec.rank, p.phase, p.pid, p.wait_status});
  }
  if (version_ >= 3) {
    welcome.input_taken = input_taken_;
    welcome.input_done = input_reported_ = input_done_;
  }
  std::vector<UniqueFd> fds;
  for (const auto& [name, fd] : held_) {
    UniqueFd copy = Duplicate(fd.get());
    if (!copy) continue;
    welcome.held.push_back(name);
    fds.push_back(std::move(copy));
  }
  agent_.channel->Send(FrameType::kWelcome, Encode(welcome), Bytes(),
                       std::move(fds));
}

// --------------------------------------------------------------- frames ---

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
      return HandleCheck();
    case FrameType::kStart:
      return HandleStart();
    case FrameType::kResume:
      return HandleResume();
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
    case FrameType::kOrphan:
      return HandleOrphan(frame);
    case FrameType::kHoldMany:
      return HandleHoldMany(frame);
    case FrameType::kRelease:
      return HandleRelease(frame);
    case FrameType::kForget:
      BeginEnd();
      return true;
    default:
      return false;
  }
}

bool JobHolder::HandlePrepare(Frame& frame) {
  PrepareJob job;
  if (starter_ != nullptr || !Decode(frame.payload, &job)) return false;
  const uint64_t window = job.window;
  orphan_ms_ = job.orphan_ms;
  starter_ = std::make_unique<ProcessStarter>(std::move(job), nofile_);
  MakePump(window);
  feed_ = std::make_unique<InputFeed>(loop_, [this](uint64_t bytes) {
    input_done_ += bytes;
    FlushInputDone();
  });
  flowing_ = true;
  pump_->Resume();
  return true;
}

void JobHolder::MakePump(uint64_t window) {
  pump_ = std::make_unique<OutputPump>(
      loop_, window,
      [this](Rank rank, uint16_t channel, Bytes data) {
        if (agent_.channel == nullptr) return;
        agent_.channel->Send(FrameType::kOutput,
                             EncodeOutputHead(rank, channel), std::move(data));
      },
      [this](Rank rank, uint16_t channel) {
        texts_->OnStreamEnding(rank, channel);
      },
      [this](Rank rank) {
        LocalProcess& process = processes_[by_rank_.at(rank)];
        if (process.phase == RankPhase::kEnded) MakeReportable(&process);
      });
  texts_ = std::make_unique<ProcessTexts>(loop_, pump_.get(),
                                          starter_->job().merge_stderr);
}

bool JobHolder::HandleRanks(Frame& frame) {
  std::vector<RankSpec> ranks;
  if (starter_ == nullptr || checked_ || !Decode(frame.payload, &ranks)) {
    return false;
  }
  size_t next_fd = 0;
  for (RankSpec& spec : ranks) {
    LocalProcess process;
    int number = 3;
    for (const std::string& name : spec.fd_names) {
      if (next_fd == frame.fds.size()) return false;
      process.fds.push_back(Duplicate(frame.fds[next_fd++].get()));
      if (!process.fds.back()) return false;
      spec.env.push_back(name + "=" + std::to_string(number++));
    }
    if (!by_rank_.emplace(spec.rank, processes_.size()).second) return false;
    process.spec = std::move(spec);
    processes_.push_back(std::move(process));
  }
  return next_fd == frame.fds.size();
}

bool JobHolder::HandleCheck() {
  if (starter_ == nullptr || checked_) return false;
  const Prepared prepared = starter_->Check(processes_);
  checked_ = prepared.status == kSuccess;
  Send(FrameType::kPrepared, Encode(prepared));
  return true;
}

bool JobHolder::HandleStart() {
  if (!checked_ || started_) return false;
  started_ = true;
  Send(FrameType::kStarted,
       Encode(starter_->Start(&processes_, pump_.get(), feed_.get())));
  for (size_t i = 0; i < processes_.size(); ++i) {
    LocalProcess& process = processes_[i];
    if (process.phase == RankPhase::kRunning) {
      by_pid_.emplace(process.pid, i);
    } else {
      OnEnded(&process);
    }
  }
  OnChildSignal();
  return true;
}

bool JobHolder::HandleResume() {
  if (starter_ == nullptr) return false;
  flowing_ = true;
  Send(FrameType::kResumed, EncodeBytes(pump_->acknowledged()));
  pump_->Resume();
  exits_.clear();
  for (LocalProcess& process : processes_) {
    if (process.reportable) MakeReportable(&process);
  }
  FlushInputDone();
  return true;
}

bool JobHolder::HandleSignal(Frame& frame) {
  SignalRanks m;
  if (!Decode(frame.payload, &m) || m.signal < 0 || m.signal >= NSIG) {
    return false;
  }
  for (LocalProcess* process : Select(m.ranks)) {
    SignalProcess(*process, m.signal);
  }
  return true;
}

bool JobHolder::HandleKill(Frame& frame) {
  KillRanks m;
  if (!Decode(frame.payload, &m)) return false;
  const auto force = [this, ranks = m.ranks] {
    for (LocalProcess* process : Select(ranks)) {
      SignalProcess(*process, SIGKILL);
      if (process->phase == RankPhase::kEnded && process->pid > 0) {
        SignalOrphanedGroup(process->pid, SIGKILL);
      }
    }
  };
  if (m.grace_ms == 0) {
    force();
    return true;
  }
  for (LocalProcess* process : Select(m.ranks)) {
    SignalProcess(*process, SIGTERM);
    SignalProcess(*process, SIGCONT);
  }
  loop_->AddTimer(m.grace_ms * kMillisecond, force);
  return true;
}

bool JobHolder::HandleInput(Frame& frame) {
  std::vector<Rank> ranks;
  std::string_view data;
  if (feed_ == nullptr || !DecodeInput(frame.payload, &ranks, &data) ||
      feed_->pending() + data.size() > kMaxPendingInput) {
    return false;
  }
  input_taken_ += data.size();
  feed_->Feed(ranks, data);
  return true;
}

bool JobHolder::HandleCredit(Frame& frame) {
  uint64_t bytes = 0;
  if (pump_ == nullptr || !DecodeBytes(frame.payload, &bytes)) return false;
  pump_->Credit(bytes);
  return true;
}

bool JobHolder::HandleText(Frame& frame) {
  TextRequest request;
  if (texts_ == nullptr || !Decode(frame.payload, &request)) return false;
  const int status = texts_->Take(std::move(request));
  Send(FrameType::kTextTaken, Encode(TextTaken{status}));
  return true;
}

bool JobHolder::HandleHold(Frame& frame) {
  std::string name;
  if (!DecodeName(frame.payload, &name) || frame.fds.size() != 1) return false;
  if (held_.size() >= kMaxHeld && !held_.contains(name)) return false;
  held_[name] = std::move(frame.fds[0]);
  return true;
}

bool JobHolder::HandleHoldMany(Frame& frame) {
  std::vector<std::string> names;
  if (!DecodeNames(frame.payload, &names) || names.size() != frame.fds.size() ||
      connections_.size() + names.size() > kMaxConnections) {
    return false;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    connections_[names[i]] = std::move(frame.fds[i]);
  }
  return true;
}

bool JobHolder::HandleRelease(Frame& frame) {
  std::vector<std::string> names;
  if (!DecodeNames(frame.payload, &names)) return false;
  for (const std::string& name : names) connections_.erase(name);
  return true;
}

bool JobHolder::HandleOrphan(Frame& frame) {
  return DecodeBytes(frame.payload, &orphan_ms_) && orphan_ms_ <= UINT32_MAX;
}

// ------------------------------------------------------------ processes ---

std::vector<LocalProcess*> JobHolder::Select(const std::vector<Rank>& ranks) {
  std::vector<LocalProcess*> out;
  if (ranks.empty()) {
    for (LocalProcess& process : processes_) out.push_back(&process);
    return out;
  }
  for (const Rank rank : ranks) {
    const auto it = by_rank_.find(rank);
    if (it != by_rank_.end()) out.push_back(&processes_[it->second]);
  }
  return out;
}

void JobHolder::SignalProcess(const LocalProcess& process, int signal) {
  if (process.phase != RankPhase::kRunning) return;
  // A process may have moved to another group of its own making.
  if (kill(-process.pid, signal) != 0) kill(process.pid, signal);
}

void JobHolder::OnChildSignal() {
  bool none_left = false;
  for (const Reaped& reaped : ReapChildren(&none_left)) {
    const auto it = by_pid_.find(reaped.pid);
    if (it == by_pid_.end()) continue;
    LocalProcess& process = processes_[it->second];
    by_pid_.erase(it);
    process.phase = RankPhase::kEnded;
    process.wait_status = reaped.wait_status;
    if (!ending_) OnEnded(&process);
  }
  if (!ending_) return;
  if (none_left) return loop_->Stop();
  if (forcing_) ForceEnd();
}

void JobHolder::OnEnded(LocalProcess* process) {
  feed_->Close(process->spec.rank);
  // Which reports it when the streams end by that.
  pump_->ProcessEnded(process->spec.rank);
  if (process->reportable) return;
  if (pump_->IsOpen(process->spec.rank)) {
    WaitForStreams(process);
  } else {
    MakeReportable(process);
  }
}

void JobHolder::WaitForStreams(LocalProcess* process) {
  loop_->AddTimer(kStreamWaitNs, [this, process] {
    if (ending_ || process->reportable) return;
    if (pump_->IsHeldBack(process->spec.rank)) return WaitForStreams(process);
    MakeReportable(process);
  });
}

void JobHolder::MakeReportable(LocalProcess* process) {
  process->reportable = true;
  exits_.push_back({process->spec.rank, process->wait_status});
  if (std::exchange(exits_scheduled_, true)) return;
  loop_->Defer([this] { FlushExits(); });
}

void JobHolder::FlushExits() {
  exits_scheduled_ = false;
  if (flowing_ && !exits_.empty()) Send(FrameType::kExits, Encode(exits_));
  exits_.clear();
}

void JobHolder::FlushInputDone() {
  if (!flowing_ || input_done_ == input_reported_ ||
      std::exchange(input_scheduled_, true)) {
    return;
  }
  loop_->Defer([this] {
    input_scheduled_ = false;
    if (!flowing_) return;
    const uint64_t told = std::exchange(input_reported_, input_done_);
    Send(FrameType::kInputDone, EncodeBytes(input_done_ - told));
  });
}

// -------------------------------------------------------------- the end ---

void JobHolder::OnTerminate() {
  if (!ending_) BeginEnd();
}

void JobHolder::BeginEnd() {
  ending_ = true;
  loop_->Unwatch(sockets_.listener.get());
  sockets_.listener.Reset();
  sockets_.file.Remove();
  candidate_ = {};
  texts_.reset();
  pump_.reset();
  feed_.reset();
  SignalChildren(SIGTERM);
  SignalChildren(SIGCONT);
  const uint32_t grace_ms = starter_ == nullptr ? 0 : starter_->job().grace_ms;
  loop_->AddTimer(grace_ms * kMillisecond, [this] { ForceEnd(); });
  loop_->Defer([this] { OnChildSignal(); });
}

void JobHolder::ForceEnd() {
  forcing_ = true;
  SignalChildren(SIGKILL);
}

}  // namespace canopy::process
