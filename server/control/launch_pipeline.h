// The stages of every job from its request to its start, for requests of a
// launcher, a process or the scheduler:
//
//   asked      Ask: the host decides where and when the job runs (Placements),
//              unless the job's user already has as many jobs or processes as a
//              user may have (user_limits.h).
//   placed     The request may start. Its `begin` maps it.
//   mapped     The mapper has assigned its ranks to nodes (JobPlanner). Now the
//              number of processes is known, and MayRecord checks it.
//   recorded   Record: it is a member of a family, and occupies its slots.
//   copied     Start: its files are on its nodes (Staging).
//   persisted  A successor of this agent can continue it.
//   started    The core launches it.
//
// A failure before a job is recorded releases the grant. If the grant could not
// be used, a launcher's job requests another placement; otherwise the failure
// is the answer to the request. A later failure is the end of the job, and is
// reported as such.
#ifndef CANOPY_SERVER_CONTROL_LAUNCH_PIPELINE_H_
#define CANOPY_SERVER_CONTROL_LAUNCH_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/job.h"
#include "common/status.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/control/placements.h"
#include "server/control/preload.h"
#include "server/control/staging.h"
#include "server/control/user_limits.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// A job that has a map.
struct MappedJob {
  std::shared_ptr<const JobSpec> job;
  LaunchFacts facts;
  Preload preload = {};
};

// Loop thread only. The arguments of the constructor outlive this object.
class LaunchPipeline {
 public:
  // Called when a recorded job has ended without having been started.
  using Failed =
      std::function<void(const std::string& nspace, const Status& status)>;

  LaunchPipeline(Families* families, Placements* placements, Staging* staging,
                 const JobPlanner* planner, Failed failed)
      : families_(families),
        placements_(placements),
        staging_(staging),
        planner_(planner),
        failed_(std::move(failed)) {}

  void set_sink(InputSink* sink) { sink_ = sink; }

  // The two possible answers to a request. One of them is called, now or later.
  struct Answers {
    // Maps, records and starts the jobs of the request. After an error no job
    // of the request is recorded.
    std::function<Status(const Placed& placed)> begin;
    // Called if the request is not executed.
    std::function<void(const Status& why)> refuse;
  };
  // Requests a placement. `is_placed` is true if the host has nothing to
  // decide, because the job takes no slots or is not started at all.
  void Ask(QueuedJob request, bool is_placed, Answers answers);

  // Returns what the jobs of each user may have together.
  UserLimits limits() const;
  // Returns kErrOutOfResource if the user of a mapped job would have too many
  // jobs or processes with it. Called before the job is recorded.
  Status MayRecord(const JobSpec& job) const;
  // Records a job in a family; null means a new one. The caller adds its data
  // about the launcher before it starts the job.
  JobRecord& Record(MappedJob mapped, Family* family);
  // Removes a recorded job that is not started.
  void Forget(const std::string& nspace);
  // Starts a recorded job. It is not persisted while its files are being
  // copied, because a successor cannot use the copies.
  void Start(const std::string& nspace, bool check_only = false);
  // Ends a recorded job without starting it.
  void Fail(const std::string& nspace, const Status& why);
  // Called when the job's files are in place, or with the reason why the job is
  // not started.
  void OnFilesCopied(const std::string& nspace, Status status);

 private:
  // Returns the handler of the host's decision.
  Placements::Decided Continue(QueuedJob request, Answers answers);
  void Begin(QueuedJob request, const Placed& placed, const Answers& answers);
  Status Launch(const JobRecord& record, bool check_only);
  Status MayAdd(uint32_t uid, const UserLoad& more) const;

  Families* const families_;
  Placements* const placements_;
  Staging* const staging_;
  const JobPlanner* const planner_;
  const Failed failed_;
  InputSink* sink_ = nullptr;
  std::map<std::string, FileSource> files_;  // for recorded jobs, until Start
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCH_PIPELINE_H_
