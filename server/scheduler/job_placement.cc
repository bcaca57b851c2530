#include "server/scheduler/job_placement.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "common/event_loop.h"
#include "common/text.h"
#include "server/scheduler/contract/line.h"
#include "server/scheduler/messages.h"

namespace canopy::scheduler {
namespace {

// A call that is open for this time is repeated with the same identity.
constexpr int64_t kPlaceMs = int64_t{3600} * 1000;
constexpr int64_t kNoteMs = 10'000;
// The limit of notes that wait. If the scheduler is unreachable for so long
// that older notes are dropped, it learns of their events from the snapshot.
constexpr size_t kMaxNotes = 10'000;
// After this number of failures a note no longer keeps others waiting. A note
// with a `release` goes to the end of the queue, and any other note is dropped.
constexpr uint32_t kMaxFailures = 10;
constexpr size_t kMaxCookie = 4096;

// Returns the status of a refusal. Most codes of gRPC do not state the reason
// for a refusal.
Status RefusalOf(const CallEnd& end) {
  const Status status = StatusOf(end);
  const std::string text = status.message().empty()
                               ? "the scheduler has refused the job"
                               : status.message();
  const bool is_precise = end.pmix_status || status.code() == kErrNoPermissions;
  return {is_precise ? status.code() : int{kErrJobAllocFailed}, text};
}

// Returns true if the request has required directives.
bool NeedsScheduler(const PlacementRequest& request) {
  const v1::PlaceJobRequest message = ToMessage(request, "", 0, 0);
  return std::ranges::any_of(message.directives(), &v1::Info::required);
}

}  // namespace

JobPlacement::JobPlacement(Options options)
    : options_(std::move(options)),
      link_(options_.link),
      note_backoff_(options_.first_pause_ns) {
  link_->OnUp([this] { OnUp(); });
}

void JobPlacement::OnUp() {
  takes_launched_ = true;  // this may be another scheduler
  std::vector<std::string> names;
  for (const auto& [name, waiting] : waiting_) {
    if (waiting.call == nullptr) names.push_back(name);
  }
  for (const std::string& name : names) {
    const auto it = waiting_.find(name);
    if (it != waiting_.end()) Ask(&it->second);
  }
  TellNext();
}

// --------------------------------------------------------------- placement ---

void JobPlacement::Place(PlacementRequest request) {
  Waiting& waiting = waiting_[request.id.request];
  waiting = {};
  waiting.request = std::move(request);
  waiting.backoff = Backoff(options_.first_pause_ns);
  Ask(&waiting);
}

void JobPlacement::SayDown(const Waiting& waiting) {
  PlacementQueued queued;
  queued.reason = link_->WhyDown();
  const PlacementId id = waiting.request.id;
  listener_->OnQueued(id, queued);
}

void JobPlacement::Ask(Waiting* waiting) {
  const PlacementId id = waiting->request.id;
  link_->Refresh();
  if (!link_->up()) return SayDown(*waiting);
  if (!link_->Has(v1::FEATURE_PLACE_JOB)) return Unsupported(id, "");
  // A pending release could free the new grant, so it is sent first.
  if (IsToBeReleased(id)) return;
  v1::PlaceJobRequest request =
      ToMessage(waiting->request, link_->overlay().agent(), EventLoop::Now(),
                options_.wall_clock_ms());
  request.set_cookie(waiting->cookie);
  *request.mutable_overlay() = link_->overlay();
  const uint64_t number = next_call_++;
  waiting->number = number;
  waiting->asked = true;
  waiting->request.again = true;
  waiting->call = link_->client()->Place(
      request, kPlaceMs,
      [this, id, number](const v1::PlaceJobResponse& update) {
        OnUpdate(id, number, update);
      },
      [this, id, number](const CallEnd& end) { OnEnd(id, number, end); });
}

void JobPlacement::Unsupported(const PlacementId& id, const std::string& why) {
  const auto it = waiting_.find(id.request);
  const bool required = NeedsScheduler(it->second.request);
  waiting_.erase(it);
  if (options_.fallback && !required) return listener_->OnGranted(id, {});
  listener_->OnRefused(
      id, Status(kErrNotSupported,
                 why.empty() ? "the scheduler does not place jobs" : why));
}

void JobPlacement::After(int64_t pause_ns, std::function<void()> work) {
  options_.loop->AddTimer(pause_ns, [alive = alive_, work = std::move(work)] {
    if (*alive) work();
  });
}

JobPlacement::Waiting* JobPlacement::Find(const PlacementId& id,
                                          uint64_t number) {
  const auto it = waiting_.find(id.request);
  const bool found = it != waiting_.end() && it->second.request.id == id &&
                     it->second.number == number && it->second.call != nullptr;
  return found ? &it->second : nullptr;
}

void JobPlacement::OnUpdate(const PlacementId& id, uint64_t number,
                            const v1::PlaceJobResponse& update) {
  Waiting* const waiting = Find(id, number);
  if (waiting == nullptr) {
    return link_->Warn("an answer of the scheduler to " + id.request +
                       " came late or twice, and is dropped");
  }
  switch (update.kind_case()) {
    case v1::PlaceJobResponse::kQueued:
      return OnQueued(waiting, update.queued());
    case v1::PlaceJobResponse::kGranted:
      return OnGranted(id, update.granted());
    case v1::PlaceJobResponse::KIND_NOT_SET:
      link_->Warn("an answer of the scheduler to " + id.request +
                  " is of an unknown kind, and is dropped");
  }
}

void JobPlacement::OnQueued(Waiting* waiting, const v1::Queued& queued) {
  const PlacementId id = waiting->request.id;
  waiting->backoff.Reset();
  if (queued.cookie().size() <= kMaxCookie) {
    waiting->cookie = queued.cookie();
  } else {
    link_->Warn("a cookie of the scheduler for " + id.request +
                " has more than 4096 bytes, and is dropped");
  }
  listener_->OnQueued(id, FromMessage(queued));
}

void JobPlacement::OnGranted(const PlacementId& id,
                             const v1::Granted& granted) {
  const Result<PlacementGrant> grant = FromMessage(granted);
  if (grant.ok()) {
    waiting_.erase(id.request);
    return listener_->OnGranted(id, *grant);
  }
  link_->Warn("the scheduler's answer to " + id.request +
              " is malformed: " + grant.status().message());
  PlacedJob job;
  job.id = id;
  job.host_job = granted.host_job_id();
  const Status why(kErrJobAllocFailed, "the scheduler's answer is malformed: " +
                                           grant.status().message());
  TellReleased(job, {1, why.code(), why.message(), 0, true});
  Refuse(id, why);
}

void JobPlacement::Refuse(const PlacementId& id, const Status& why) {
  waiting_.erase(id.request);
  listener_->OnRefused(id, why);
}

// Called when the call has ended without a grant. The call is repeated unless
// its status is a refusal.
void JobPlacement::OnEnd(const PlacementId& id, uint64_t number,
                         const CallEnd& end) {
  Waiting* const waiting = Find(id, number);
  if (waiting == nullptr) return;
  waiting->call = nullptr;
  if (end.unimplemented() && !end.pmix_status) {
    return Unsupported(id, LineOf(end.message));
  }
  if (!end.ok() && !end.leaves_undecided()) {
    return Refuse(id, RefusalOf(end));
  }
  if (link_->LostBy(end)) return SayDown(*waiting);
  AskLater(waiting, end);
}

// Repeats the call after a pause, and reports the delay. The end of a call that
// was open for the maximum time is not reported as a delay.
void JobPlacement::AskLater(Waiting* waiting, const CallEnd& end) {
  const PlacementId id = waiting->request.id;
  After(waiting->backoff.Next(end.retry_ns),
        [this, id, number = waiting->number] { AskAgain(id, number); });
  if (end.out_of_time()) return;
  PlacementQueued queued;
  queued.reason = "the scheduler has not decided yet: " +
                  (end.ok() ? "it has ended the call" : LineOf(end.message));
  listener_->OnQueued(id, queued);
}

void JobPlacement::AskAgain(const PlacementId& id, uint64_t number) {
  const auto it = waiting_.find(id.request);
  if (it == waiting_.end() || it->second.request.id != id ||
      it->second.number != number || it->second.call != nullptr) {
    return;
  }
  Ask(&it->second);
}

// Cancels a placement. A grant may be on its way, and only the scheduler knows
// it, so the placement is also released there.
void JobPlacement::Cancel(const PlacementId& id) {
  const auto it = waiting_.find(id.request);
  if (it == waiting_.end() || it->second.request.id != id) return;
  const Waiting waiting = std::move(it->second);
  waiting_.erase(it);
  if (waiting.call != nullptr) waiting.call->Cancel();
  if (!waiting.asked) return;
  PlacedJob job;
  job.id = id;
  TellReleased(job, {0, kErrJobCanceled, "it was taken out of the queue"});
}

// -------------------------------------------------------------------- jobs ---

void JobPlacement::Launched(const PlacedJob& job, bool recovered) {
  Running& running = running_[job.nspace];
  running.job = job;
  if (recovered) running.phase = v1::JOB_STATE_RUNNING;
  options_.listener->OnJob(running.Report());
  if (recovered) return;  // the predecessor or the snapshot does
  if (takes_launched_) TellLaunched(job);
}

void JobPlacement::TellLaunched(const PlacedJob& job) {
  v1::JobLaunchedRequest request;
  *request.mutable_overlay() = link_->overlay();
  PutPlacement(job.id, request.mutable_placement());
  request.set_host_job_id(job.host_job);
  request.set_nspace(job.nspace);
  for (const NodeUse& node : job.nodes) {
    v1::NodeUse* const to = request.add_nodes();
    to->set_name(node.name);
    to->set_procs(node.procs);
  }
  Tell({job.id, [this, request](std::function<void(const CallEnd&)> done) {
          link_->client()->Send(
              request, kNoteMs,
              [done](const CallEnd& end, const v1::JobLaunchedResponse&) {
                done(end);
              });
        }});
}

void JobPlacement::Changed(const std::string& nspace, core::JobPhase phase,
                           uint32_t procs_ended) {
  const auto it = running_.find(nspace);
  if (it == running_.end()) return;
  Running& running = it->second;
  const v1::JobState state = StateOf(phase);
  running.procs_ended = procs_ended;
  if (std::exchange(running.phase, state) == state) return;
  options_.listener->OnJob(running.Report());
}

void JobPlacement::Suspended(const std::string& nspace, bool suspended) {
  const auto it = running_.find(nspace);
  if (it == running_.end()) return;
  Running& running = it->second;
  if (std::exchange(running.job.suspended, suspended) == suspended) return;
  options_.listener->OnJob(running.Report());
}

// Reports the job. A job that is being ended is no longer reported as
// suspended.
v1::JobReport JobPlacement::Running::Report() const {
  const bool ends =
      phase == v1::JOB_STATE_ENDING || phase == v1::JOB_STATE_ENDED;
  return ReportOf(job, job.suspended && !ends ? v1::JOB_STATE_SUSPENDED : phase,
                  procs_ended);
}

// Handles the end of a job. The release is recorded first. If the agent is
// killed before it records the end of the job, its successor observes the end
// again.
void JobPlacement::Released(const PlacedJob& job, const PlacedEnd& end) {
  running_.erase(job.nspace);
  const v1::JobReleasedRequest release = ReleaseOf(job, end);
  if (end.last) options_.listener->OnReleasing(release);
  options_.listener->OnRecord(RecordOf(job, end));
  if (end.last) TellUntilHeard(release);
}

void JobPlacement::ReleaseAgain(const v1::JobReleasedRequest& release) {
  const PlacementId id = {release.placement().request_id(),
                          release.placement().attempt()};
  const bool used = std::ranges::any_of(running_, [&](const auto& running) {
    return running.second.job.id == id;
  });
  if (used) return options_.listener->OnReleased(release);
  TellUntilHeard(release);
}

std::vector<v1::JobReport> JobPlacement::Jobs() const {
  std::vector<v1::JobReport> out;
  for (const auto& [name, waiting] : waiting_) {
    PlacedJob job;
    job.id = waiting.request.id;
    job.caller = waiting.request.caller;
    job.queued_ms = waiting.request.since_ms;
    job.name = waiting.request.job.name;
    job.hints = waiting.request.job.hints;
    out.push_back(ReportOf(job, v1::JOB_STATE_QUEUED, 0));
  }
  for (const auto& [nspace, running] : running_) {
    out.push_back(running.Report());
  }
  return out;
}

// ------------------------------------------------------------------- notes ---

v1::JobReleasedRequest JobPlacement::ReleaseOf(const PlacedJob& job,
                                               const PlacedEnd& end) const {
  v1::JobReleasedRequest release;
  *release.mutable_overlay() = link_->overlay();
  PutPlacement(job.id, release.mutable_placement());
  release.set_host_job_id(job.host_job);
  release.set_nspace(job.nspace);
  release.set_pmix_status(end.status);
  release.set_message(Printable(end.text));
  return release;
}

JobPlacement::Note JobPlacement::NoteOf(const v1::JobReleasedRequest& release) {
  const PlacementId id = {release.placement().request_id(),
                          release.placement().attempt()};
  Note note;
  note.id = id;
  note.releases = true;
  note.send = [this, release](std::function<void(const CallEnd&)> done) {
    link_->client()->Send(
        release, kNoteMs,
        [done](const CallEnd& end, const v1::JobReleasedResponse&) {
          done(end);
        });
  };
  return note;
}

void JobPlacement::TellReleased(const PlacedJob& job, const PlacedEnd& end) {
  Tell(NoteOf(ReleaseOf(job, end)));
}

void JobPlacement::TellUntilHeard(const v1::JobReleasedRequest& release) {
  Note note = NoteOf(release);
  note.release = release;
  Tell(std::move(note));
}

void JobPlacement::Tell(Note note) {
  if (notes_.size() >= kMaxNotes) Drop(notes_.begin() + (telling_ ? 1 : 0));
  notes_.push_back(std::move(note));
  TellNext();
}

void JobPlacement::Drop(std::deque<Note>::iterator note) {
  const PlacementId id = note->id;
  if (note->release) options_.listener->OnReleased(*note->release);
  notes_.erase(note);
  const auto it = waiting_.find(id.request);
  const bool is_held = it != waiting_.end() && it->second.request.id == id &&
                       it->second.call == nullptr;
  if (is_held && link_->up()) Ask(&it->second);
}

bool JobPlacement::IsToBeReleased(const PlacementId& id) const {
  return std::ranges::any_of(
      notes_, [&](const Note& note) { return note.releases && note.id == id; });
}

void JobPlacement::TellNext() {
  link_->Refresh();
  if (telling_ || notes_.empty() || !link_->up()) return;
  telling_ = true;
  notes_.front().send([this](const CallEnd& end) { OnTold(end); });
}

void JobPlacement::PutLast() {
  failures_ = 0;
  notes_.push_back(std::move(notes_.front()));
  notes_.pop_front();
}

void JobPlacement::OnTold(const CallEnd& end) {
  telling_ = false;
  if (end.leaves_undecided()) {
    if (link_->LostBy(end)) return;
    const bool is_kept = notes_.front().release.has_value();
    if (++failures_ < kMaxFailures || is_kept) {
      if (failures_ >= kMaxFailures) PutLast();
      telling_ = true;
      return After(note_backoff_.Next(end.retry_ns), [this] {
        telling_ = false;
        TellNext();
      });
    }
  }
  const bool is_left_out =
      end.unimplemented() && !end.pmix_status && !notes_.front().releases;
  if (is_left_out) {
    takes_launched_ = false;
  } else if (!end.ok()) {
    link_->Warn("the scheduler does not accept reports about " +
                notes_.front().id.request + ": " + LineOf(end.message));
  }
  failures_ = 0;
  note_backoff_.Reset();
  Drop(notes_.begin());
  TellNext();
}

}  // namespace canopy::scheduler
