// Lets the scheduler decide where and when jobs run.
#ifndef CANOPY_SERVER_SCHEDULER_JOB_PLACEMENT_H_
#define CANOPY_SERVER_SCHEDULER_JOB_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/ports/placement_port.h"
#include "server/scheduler/backoff.h"
#include "server/scheduler/link.h"
#include "server/scheduler/service_client.h"

namespace canopy::scheduler {

// Receives the events of jobs that are reported to the scheduler.
class JobListener {
 public:
  virtual ~JobListener() = default;
  // Called with the new state of a job.
  virtual void OnJob(const v1::JobReport& report) = 0;
  // Called with the record of a job that has ended.
  virtual void OnRecord(const v1::JobRecord& record) = 0;
  // Called when the resources that were granted to a job are free. OnReleasing
  // precedes the message to the scheduler and makes the release durable.
  // OnReleased follows when the scheduler has received the message, or when the
  // message is no longer needed.
  virtual void OnReleasing(const v1::JobReleasedRequest& release) = 0;
  virtual void OnReleased(const v1::JobReleasedRequest& release) = 0;
};

// Jobs wait while the scheduler is unreachable, and are requested again when it
// is reachable. Loop thread only.
class JobPlacement : public PlacementPort {
 public:
  struct Options {
    EventLoop* loop = nullptr;  // these objects outlive this one
    Link* link = nullptr;
    JobListener* listener = nullptr;
    // If true and the scheduler does not place jobs, they run at once where
    // there are free slots.
    bool fallback = false;
    std::function<int64_t()> wall_clock_ms;
    int64_t first_pause_ns = Backoff::kFirstNs;  // after a failed call
  };
  explicit JobPlacement(Options options);
  ~JobPlacement() override { *alive_ = false; }
  JobPlacement(const JobPlacement&) = delete;
  JobPlacement& operator=(const JobPlacement&) = delete;

  void set_listener(PlacementListener* listener) override {
    listener_ = listener;
  }
  bool HeedsDirectives() const override {
    return !link_->up() || link_->Has(v1::FEATURE_PLACE_JOB);
  }
  void Place(PlacementRequest request) override;
  void Cancel(const PlacementId& id) override;
  void Launched(const PlacedJob& job, bool recovered) override;
  void Changed(const std::string& nspace, core::JobPhase phase,
               uint32_t procs_ended) override;
  void Suspended(const std::string& nspace, bool suspended) override;
  void Released(const PlacedJob& job, const PlacedEnd& end) override;

  // Repeats a release that a predecessor may not have sent. No message is sent
  // while jobs use the granted resources.
  void ReleaseAgain(const v1::JobReleasedRequest& release);

  // Returns the current state of waiting and running jobs.
  std::vector<v1::JobReport> Jobs() const;

 private:
  struct Waiting {
    PlacementRequest request;
    CallPtr call;                 // null: the call must be made (again)
    uint64_t number = 0;          // number of the last call
    bool asked = false;           // whether a call was ever made
    Backoff backoff = Backoff();  // after calls without a decision
    std::string cookie;           // the scheduler's; returned to it
  };
  struct Running {
    PlacedJob job;
    v1::JobState phase = v1::JOB_STATE_PREPARING;
    uint32_t procs_ended = 0;

    v1::JobReport Report() const;
  };
  // A message that needs an answer. The scheduler gets these messages in order.
  struct Note {
    PlacementId id;
    std::function<void(std::function<void(const CallEnd&)>)> send;
    bool releases = false;
    // The listener is notified of this release when the scheduler has received
    // the message, or when the note is dropped.
    std::optional<v1::JobReleasedRequest> release = std::nullopt;
  };

  void OnUp();
  void Ask(Waiting* waiting);
  void OnUpdate(const PlacementId& id, uint64_t number,
                const v1::PlaceJobResponse& update);
  void OnEnd(const PlacementId& id, uint64_t number, const CallEnd& end);
  void OnQueued(Waiting* waiting, const v1::Queued& queued);
  void OnGranted(const PlacementId& id, const v1::Granted& granted);
  // Requests the placement again after a pause.
  void AskLater(Waiting* waiting, const CallEnd& end);
  void AskAgain(const PlacementId& id, uint64_t number);
  void Refuse(const PlacementId& id, const Status& why);
  void SayDown(const Waiting& waiting);
  void Unsupported(const PlacementId& id, const std::string& why);
  // Calls `work` after `pause_ns`, unless this object is destroyed first.
  void After(int64_t pause_ns, std::function<void()> work);
  // Returns null if no such call is pending.
  Waiting* Find(const PlacementId& id, uint64_t number);

  v1::JobReleasedRequest ReleaseOf(const PlacedJob& job,
                                   const PlacedEnd& end) const;
  Note NoteOf(const v1::JobReleasedRequest& release);
  void TellLaunched(const PlacedJob& job);
  void TellReleased(const PlacedJob& job, const PlacedEnd& end);
  void TellUntilHeard(const v1::JobReleasedRequest& release);
  void Tell(Note note);
  void Drop(std::deque<Note>::iterator note);
  bool IsToBeReleased(const PlacementId& id) const;
  void TellNext();
  // Moves the first note to the end of the queue.
  void PutLast();
  void OnTold(const CallEnd& end);

  const Options options_;
  Link* const link_;
  PlacementListener* listener_ = nullptr;
  std::map<std::string, Waiting> waiting_;  // key: the request's name
  std::map<std::string, Running> running_;  // key: the namespace
  uint64_t next_call_ = 1;
  std::deque<Note> notes_;
  bool telling_ = false;   // the first note is sent, now or after a pause
  uint32_t failures_ = 0;  // failures of the first note
  // False if the scheduler has no JobLaunched, as a call has shown.
  bool takes_launched_ = true;
  Backoff note_backoff_;
  // False after the destruction of this object; shared with timers.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_JOB_PLACEMENT_H_
