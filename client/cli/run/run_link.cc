#include "client/cli/run/run_link.h"

#include <sys/random.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace canopy::cli {
namespace {

namespace v1c = control::v1;
using std::chrono::milliseconds;

// Output is acknowledged after this number of bytes, which is far below the
// window of a node.
constexpr uint64_t kConsumedLump = 64 << 10;
// The restart grace of the agents, until an agent has reported its own value
// (JobQueued, JobMapped).
constexpr milliseconds kUnknownGrace(5000);
// Extra time for the connection to an agent that has come back in time.
constexpr milliseconds kSlack(3000);
constexpr milliseconds kPatience(5000);  // delay before the user is informed
constexpr milliseconds kFirstPause(20);
constexpr milliseconds kLongestPause(500);
constexpr size_t kTokenSize = 16;

std::string MakeToken() {
  std::string token(kTokenSize, '\0');
  if (getrandom(token.data(), token.size(), 0) !=
      static_cast<ssize_t>(token.size())) {
    token.clear();
  }
  return token;
}

}  // namespace

RunLink::RunLink(std::unique_ptr<RunConnection> connection,
                 RunLinkOptions options)
    : options_(std::move(options)),
      connection_(std::move(connection)),
      grace_(kUnknownGrace) {}

std::shared_ptr<RunConnection> RunLink::Connection() {
  const MutexLock lock(mutex_);
  return connection_;
}

void RunLink::Launch(const v1c::Launch& launch) {
  *launch_.mutable_launch() = launch;
  if (options_.dial) launch_.mutable_launch()->set_token(MakeToken());
  launch_.mutable_launch()->set_requeues(true);
  launch_.mutable_launch()->set_adds_hosts(true);
  (void)Connection()->Write(launch_);
}

void RunLink::Write(const v1c::RunRequest& request) {
  std::shared_ptr<RunConnection> to;
  {
    const MutexLock lock(mutex_);
    if (request.has_kill()) kill_ = request.kill();
    if (connected_) to = connection_;
  }
  if (to != nullptr && to->Write(request)) return;
  const MutexLock lock(mutex_);
  if (!request.has_kill()) pending_.push_back(request);
}

void RunLink::Consumed(uint64_t bytes) {
  unacknowledged_ += bytes;
  if (unacknowledged_ >= kConsumedLump) Acknowledge();
}

void RunLink::Acknowledge() {
  if (unacknowledged_ == 0) return;
  v1c::RunRequest request;
  request.set_consumed(std::exchange(unacknowledged_, 0));
  (void)Connection()->Write(request);
}

bool RunLink::Read(v1c::RunEvent* event) {
  for (;;) {
    if (!early_.empty()) {
      *event = std::move(early_.front());
      early_.pop_front();
      return true;
    }
    if (Connection()->Read(event)) {
      if (Note(*event)) return true;
    } else if (ended_ || !Reattach()) {
      return false;
    }
  }
}

// The launch contains the job's name in the queue, by which a successor of the
// agent finds the job's place in the queue.
void RunLink::NoteQueued(const v1c::JobQueued& queued) {
  launch_.mutable_launch()->set_queued_as(queued.name());
  launch_.mutable_launch()->set_queued_since_ms(queued.since_ms());
  launch_.mutable_launch()->set_attempt(queued.attempt());
  grace_ = milliseconds(queued.grace_ms());
}

// The kill request is sent again, because before the launch it had no effect.
void RunLink::AskAnew(const v1c::JobRequeued& requeued) {
  v1c::Launch* const launch = launch_.mutable_launch();
  launch->set_queued_as(requeued.name());
  launch->set_queued_since_ms(requeued.since_ms());
  launch->set_attempt(requeued.attempt());
  mapped_ = false;
  received_.clear();
  unacknowledged_ = 0;
  if (requeued.elsewhere()) MoveToLeader();
  (void)Connection()->Write(launch_);
  v1c::RunRequest request;
  {
    const MutexLock lock(mutex_);
    if (!kill_) return;
    *request.mutable_kill() = *kill_;
  }
  (void)Connection()->Write(request);
}

// The agent has withdrawn the job, so nothing is lost with the old connection.
void RunLink::MoveToLeader() {
  if (!options_.dial_leader) return;
  std::shared_ptr<RunConnection> next = options_.dial_leader();
  if (next == nullptr) return;
  const MutexLock lock(mutex_);
  connection_.swap(next);
}

bool RunLink::Note(const v1c::RunEvent& event) {
  switch (event.kind_case()) {
    case v1c::RunEvent::kMapped:
      NoteMap(event.mapped());
      return true;
    case v1c::RunEvent::kQueued:
      NoteQueued(event.queued());
      return true;
    case v1c::RunEvent::kRequeued:
      AskAnew(event.requeued());
      return true;
    case v1c::RunEvent::kOutput:
      NoteOutput(event.output());
      return true;
    case v1c::RunEvent::kSpawnedEnd:
      received_.erase(event.spawned_end().nspace());
      return true;
    case v1c::RunEvent::kEnd:
      ended_ = true;
      return true;
    case v1c::RunEvent::kFlush:
      Acknowledge();
      return false;
    case v1c::RunEvent::kPlannedDowntimeMs:
      planned_downtime_ = milliseconds(event.planned_downtime_ms());
      return false;
    default:
      return true;
  }
}

void RunLink::NoteMap(const v1c::JobMapped& mapped) {
  const bool spawned = !mapped.parent().empty();
  if (!spawned && std::exchange(mapped_, true)) return;
  grace_ = milliseconds(mapped.grace_ms());
  if (!options_.dial) return;
  Received received;
  received.node_of.resize(mapped.num_procs());
  received.bytes.resize(static_cast<size_t>(mapped.nodes_size()));
  for (int node = 0; node < mapped.nodes_size(); ++node) {
    for (const v1c::MapProc& proc : mapped.nodes(node).procs()) {
      if (proc.rank() >= received.node_of.size()) continue;
      received.node_of[proc.rank()] = static_cast<uint32_t>(node);
    }
  }
  received_.emplace(spawned ? mapped.nspace() : "", std::move(received));
}

void RunLink::NoteOutput(const v1c::Output& output) {
  const auto it = received_.find(output.nspace());
  if (it == received_.end()) return;
  Received& received = it->second;
  if (output.rank() >= received.node_of.size()) return;
  received.bytes[received.node_of[output.rank()]] +=
      output.data().size() + output.redirected();
}

bool RunLink::Reattach() {
  {
    const MutexLock lock(mutex_);
    connected_ = false;
  }
  why_ = Connection()->WhyEnded();
  const milliseconds grace = std::max(grace_, planned_downtime_);
  if (launch_.launch().token().empty() || grace.count() == 0) return false;
  const auto time_limit = grace + kSlack;
  const auto begin = Clock::now();
  bool said = false;
  milliseconds pause = kFirstPause;
  while (Clock::now() - begin < time_limit) {
    if (std::shared_ptr<RunConnection> next = options_.dial()) {
      const std::optional<bool> known = Reattach(next.get());
      if (known) return UseConnection(std::move(next), *known);
    }
    if (Clock::now() - begin > kPatience && !std::exchange(said, true) &&
        options_.say) {
      options_.say("the agent that controls the job is away; waiting up to " +
                   std::to_string(time_limit.count() / 1000) +
                   " s for another one");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  if (why_.empty()) why_ = "the connection was lost";
  why_ += ", and no other one came within " +
          std::to_string(time_limit.count() / 1000) + " s";
  return false;
}

std::optional<bool> RunLink::Reattach(RunConnection* connection) {
  v1c::RunRequest request;
  v1c::Reattach* const reattach = request.mutable_reattach();
  reattach->set_token(launch_.launch().token());
  reattach->set_requeues(true);
  reattach->set_adds_hosts(true);
  for (const auto& [nspace, received] : received_) {
    if (nspace.empty()) {
      reattach->mutable_received()->Add(received.bytes.begin(),
                                        received.bytes.end());
      continue;
    }
    v1c::SpawnedOutput* const spawned = reattach->add_spawned();
    spawned->set_nspace(nspace);
    spawned->mutable_received()->Add(received.bytes.begin(),
                                     received.bytes.end());
  }
  if (options_.input_begin) reattach->set_input_begin(options_.input_begin());
  {
    const MutexLock lock(mutex_);
    if (kill_) *reattach->mutable_kill() = *kill_;
  }
  if (!connection->Write(request)) return std::nullopt;
  v1c::RunEvent event;
  while (connection->Read(&event)) {
    if (!event.has_reattached() && !event.has_mapped()) break;
    if (event.has_mapped()) NoteMap(event.mapped());
    early_.push_back(event);
    if (event.has_reattached()) return event.reattached().known();
  }
  early_.clear();
  return std::nullopt;
}

bool RunLink::UseConnection(std::shared_ptr<RunConnection> connection,
                            bool known) {
  if (!known && mapped_) {
    why_ = "the one that came after it does not know the job";
    return false;
  }
  unacknowledged_ = 0;
  planned_downtime_ = milliseconds(0);
  if (!known) (void)connection->Write(launch_);
  const MutexLock lock(mutex_);
  connection_ = std::move(connection);
  connected_ = true;
  why_.clear();
  for (const v1c::RunRequest& request : std::exchange(pending_, {})) {
    (void)connection_->Write(request);
  }
  return true;
}

}  // namespace canopy::cli
