// The registry of the jobs that this agent controls, the families that they
// form, and their launchers.
//
// A family is the job that a launcher requested, its first job, with all jobs
// spawned from it (family.h). Each job has one JobRecord and is in one family;
// a family has at most one launcher. The registry only stores these relations:
// JobManager, SpawnExecutor, FamilyRecovery and HostCommands change the states
// of jobs, and look the objects up by name or number when they need them.
//
// A family is in one of these states:
// - attended: `launcher` is the number of a connected launcher. When the
//   launcher is gone, the family becomes unattended or abandoned;
// - awaited: the family was recovered from a predecessor. `launcher` is 0, and
//   the launcher may reattach with `token` until a timeout;
// - of a tool: `launcher` is 0 and `token` is empty. A tool has spawned the
//   family's jobs, which end with the tool, except those with PMIX_NOHUP;
// - unattended: the launcher will not return, but jobs with PMIX_NOHUP
//   continue;
// - abandoned: the launcher will not return, and the whole family is being
//   ended.
//
// Invariants: a job in jobs() is also in the jobs() of its family, which
// exists, until the job is over. A family is removed only after its last job is
// over. If its token is set, the jobs that were launched are persisted for a
// successor.
#ifndef CANOPY_SERVER_CONTROL_FAMILIES_H_
#define CANOPY_SERVER_CONTROL_FAMILIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/job.h"
#include "protos/control.pb.h"
#include "server/control/family.h"
#include "server/control/job_record.h"
#include "server/control/jobs_elsewhere.h"
#include "server/control/launcher.h"
#include "server/control/launcher_stream.h"

namespace canopy::control {

// Stores the relations, and sends notices about a job to its launcher. A family
// and a record keep their addresses until they are removed. Loop thread only.
class Families {
 public:
  // Sets the store that keeps jobs for a successor; null means that none are
  // kept. Launchers that can reattach try to do so for `grace_ms`.
  void set_persistence(LaunchPersistence* persistence, uint32_t grace_ms);
  LaunchPersistence* persistence() const { return persistence_; }

  const JobRecords& jobs() const { return jobs_; }
  // Returns all jobs that this agent knows. At the leader, these are all jobs
  // of the overlay. The reference is valid until the next call.
  const JobRecords& known_jobs() const { return elsewhere_.With(jobs_); }
  void OnJobElsewhere(const core::JobElsewhere& job) { elsewhere_.On(job); }
  // Returns the record of a job, or null if this agent does not control it.
  JobRecord* FindJob(const std::string& nspace);
  // Returns true if some job uses the grant for this request.
  bool HasJobOn(const PlacementId& id) const;
  // Adds a job to a family, which must exist.
  JobRecord& AddJob(Family* family, std::shared_ptr<const JobSpec> job,
                    const LaunchFacts& facts);
  // Removes the record of a job, which must exist, and returns it. The family
  // still lists the job.
  JobRecord RemoveJob(const std::string& nspace);

  // Adds a family that is named after its first job, whose record is added
  // later.
  Family* AddFamily(const std::string& first);
  void RemoveFamily(uint64_t id) { families_.erase(id); }
  // Return the family, or null if there is none.
  Family* FindFamily(uint64_t id);
  const Family* FindFamily(uint64_t id) const;
  // Returns the family of a job, or null if the job does not exist.
  Family* FamilyOf(const std::string& nspace);
  // Returns the family whose launcher may reattach with this token, which must
  // not be empty.
  Family* FamilyOfToken(const std::string& token);
  // Called when the launcher is gone for good. The jobs with PMIX_NOHUP become
  // unattended, which is persisted. A family without jobs with PMIX_NOHUP
  // becomes abandoned: its records are dropped, so that it does not continue at
  // a successor, and the caller ends its jobs.
  void Abandon(Family* family);
  // Returns the number of jobs whose launchers cannot reattach. These jobs end
  // with this agent.
  size_t num_bound() const;

  std::map<uint64_t, Launcher>& launchers() { return launchers_; }
  // Return the launcher, or null if it is not connected.
  Launcher* FindLauncher(uint64_t id);
  const Launcher* FindLauncher(uint64_t id) const;
  // Returns the launcher that receives the output of a job, or null if none is
  // connected.
  Launcher* LauncherOf(const std::string& nspace);
  // Connects a launcher, which must exist, with its family.
  void Attach(uint64_t launcher, Family* family);

  // Sends a JobMapped event. Adds the time for which the launcher may try to
  // reattach.
  void SendMapped(Launcher* launcher, v1::RunEvent event) const;
  // Returns how long launchers try to reach a successor, in milliseconds; 0:
  // they do not try.
  uint32_t grace_ms() const { return persistence_ == nullptr ? 0 : grace_ms_; }
  // Sends a line for the user to the launcher of the job's family.
  void Notice(const std::string& nspace, const std::string& text);

 private:
  void LeaveUnattended(Family* family);

  std::map<uint64_t, Launcher> launchers_;
  JobRecords jobs_;
  JobsElsewhere elsewhere_;
  std::map<uint64_t, Family> families_;
  uint64_t next_family_ = 1;
  LaunchPersistence* persistence_ = nullptr;
  uint32_t grace_ms_ = 0;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_FAMILIES_H_
