#include "server/scheduler/job_placement.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "common/event_loop.h"
#include "common/text.h"
#include "server/scheduler/line.h"
#include "server/scheduler/messages.h"

namespace canopy::scheduler {
namespace {

// A call that is open for this time is repeated with the same identity.
constexpr int64_t kPlaceMs = int64_t{3600} * 1000;
constexpr int64_t kNoteMs = 10'000;
// A scheduler that is unreachable for long gets the missed events from the
// snapshot.
constexpr size_t kMaxNotes = 10'000;

// Returns true if the request has required directives.
bool NeedsScheduler(const PlacementRequest& request) {
  const v1::PlaceJobRequest message = ToMessage(request, 0, 0);
  return std::ranges::any_of(message.directives(), &v1::Info::required);
}

}  // namespace

JobPlacement::JobPlacement(Options options)
    : options_(std::move(options)), link_(options_.link) {
  link_->OnUp([this] { OnUp(); });
}

void JobPlacement::OnUp() {
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
  if (!link_->up()) return SayDown(waiting);
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
  if (!link_->Has(v1::SLOT_PLACE_JOB)) return Unsupported(id);
  // A pending release could free the new grant, so it is sent first.
  if (IsToBeReleased(id)) return;
  v1::PlaceJobRequest request =
      ToMessage(waiting->request, EventLoop::Now(), options_.wall_clock_ms());
  *request.mutable_overlay() = link_->overlay();
  const uint64_t number = next_call_++;
  waiting->number = number;
  waiting->asked = true;
  waiting->request.again = true;
  waiting->call = link_->client()->Place(
      request, kPlaceMs,
      [this, id, number](const v1::PlacementUpdate& update) {
        OnUpdate(id, number, update);
      },
      [this, id, number](const CallEnd& end) { OnEnd(id, number, end); });
}

void JobPlacement::Unsupported(const PlacementId& id) {
  const auto it = waiting_.find(id.request);
  const bool required = NeedsScheduler(it->second.request);
  waiting_.erase(it);
  if (options_.fallback && !required) return listener_->OnGranted(id, {});
  listener_->OnRefused(
      id, Status(kErrNotSupported, "the scheduler does not place jobs"));
}

JobPlacement::Waiting* JobPlacement::Find(const PlacementId& id,
                                          uint64_t number) {
  const auto it = waiting_.find(id.request);
  const bool found = it != waiting_.end() && it->second.request.id == id &&
                     it->second.number == number && it->second.call != nullptr;
  return found ? &it->second : nullptr;
}

void JobPlacement::OnUpdate(const PlacementId& id, uint64_t number,
                            const v1::PlacementUpdate& update) {
  if (Find(id, number) == nullptr) {
    return link_->Warn("an answer of the scheduler to " + id.request +
                       " came late or twice, and is dropped");
  }
  switch (update.kind_case()) {
    case v1::PlacementUpdate::kQueued:
      return listener_->OnQueued(
          id, {LineOf(update.queued().reason()), update.queued().since_ms(),
               update.queued().position()});
    case v1::PlacementUpdate::kGranted:
      return OnGranted(id, update.granted());
    case v1::PlacementUpdate::kRefused:
      return Refuse(id, FromMessage(update.refused()));
    case v1::PlacementUpdate::KIND_NOT_SET:
      link_->Warn("an answer of the scheduler to " + id.request +
                  " is of an unknown kind, and is dropped");
  }
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

// The call ended without an answer; it is repeated if that can help.
void JobPlacement::OnEnd(const PlacementId& id, uint64_t number,
                         const CallEnd& end) {
  Waiting* const waiting = Find(id, number);
  if (waiting == nullptr) return;
  waiting->call = nullptr;
  if (end.unimplemented()) return Unsupported(id);
  if (end.out_of_time() && link_->up()) return Ask(waiting);
  if (!end.ok() && !end.gone() && !end.out_of_time()) {
    return Refuse(id,
                  Status(kErrServerFailedRequest,
                         "the scheduler has failed: " + LineOf(end.message)));
  }
  link_->Lost(end.ok() ? "it has ended a call without an answer" : end.message);
  SayDown(*waiting);
}

// Only the scheduler knows whether a grant is on its way.
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
  if (recovered) running.state = v1::JOB_STATE_RUNNING;
  options_.listener->OnJob(ReportOf(job, running.state, running.procs_ended));
  if (recovered) return;  // the predecessor or the snapshot reports it
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
              [done](const CallEnd& end, const v1::JobLaunchedReply&) {
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
  if (std::exchange(running.state, state) == state) return;
  options_.listener->OnJob(ReportOf(running.job, state, procs_ended));
}

// The release is recorded first. If the agent is killed before it records the
// end of the job, its successor sees the job end again.
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
    out.push_back(ReportOf(job, v1::JOB_STATE_QUEUED, 0));
  }
  for (const auto& [nspace, running] : running_) {
    out.push_back(ReportOf(running.job, running.state, running.procs_ended));
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
  release.set_status(end.status);
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
        [done](const CallEnd& end, const v1::JobReleasedReply&) { done(end); });
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
  if (telling_ || notes_.empty() || !link_->up()) return;
  telling_ = true;
  notes_.front().send([this](const CallEnd& end) { OnTold(end); });
}

void JobPlacement::OnTold(const CallEnd& end) {
  telling_ = false;
  if (end.gone() || end.out_of_time()) return link_->Lost(end.message);
  if (!end.ok()) {
    link_->Warn("the scheduler does not accept reports about " +
                notes_.front().id.request + ": " + LineOf(end.message));
  }
  Drop(notes_.begin());
  TellNext();
}

}  // namespace canopy::scheduler
