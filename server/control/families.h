// The jobs that this agent controls, the families that they form, and the
// launchers of these: who belongs to whom.
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
#include "server/control/launcher.h"
#include "server/control/launcher_stream.h"

namespace canopy::control {

// Book-keeping, with what is said to a launcher of a job by its name. A family
// and a record stay at their addresses until they are removed. Loop thread
// only.
class Families {
 public:
  // What jobs leave for a successor; none: nothing. Launchers that may reattach
  // try for `grace_ms`.
  void set_persistence(LaunchPersistence* persistence, uint32_t grace_ms);
  LaunchPersistence* persistence() const { return persistence_; }

  const JobRecords& jobs() const { return jobs_; }
  JobRecord* FindJob(const std::string& nspace);
  // Some job is on what was granted to this request.
  bool HasJobOn(const PlacementId& id) const;
  // In a family that is there.
  JobRecord& AddJob(Family* family, std::shared_ptr<const JobSpec> job,
                    const LaunchFacts& facts);
  // The record of a job that is there. Its family still lists it.
  JobRecord RemoveJob(const std::string& nspace);

  // Of one job, which is not added yet.
  Family* AddFamily(const std::string& first);
  void RemoveFamily(uint64_t id) { families_.erase(id); }
  Family* FindFamily(uint64_t id);
  const Family* FindFamily(uint64_t id) const;
  // Null for a job that is not there.
  Family* FamilyOf(const std::string& nspace);
  // Whose launcher may reattach with this, which is not empty.
  Family* FamilyOfToken(const std::string& token);
  // Its launcher is gone for good. What goes on without one is unattended from
  // now on, and is persisted as that. A family without such jobs is to end:
  // without records, what is left of it ends with this agent.
  void Abandon(Family* family);
  // Jobs whose launchers cannot reattach, which end with this agent.
  size_t num_bound() const;

  std::map<uint64_t, Launcher>& launchers() { return launchers_; }
  Launcher* FindLauncher(uint64_t id);
  const Launcher* FindLauncher(uint64_t id) const;
  // The launcher that gets the output of a job; null: none is here.
  Launcher* LauncherOf(const std::string& nspace);
  void Attach(uint64_t launcher, Family* family);

  void SendMapped(Launcher* launcher, v1::RunEvent event) const;
  // How long launchers look for a successor; 0: not at all.
  uint32_t grace_ms() const { return persistence_ == nullptr ? 0 : grace_ms_; }
  // A line for the user, from the launcher of the job's family.
  void Notice(const std::string& nspace, const std::string& text);

 private:
  void LeaveUnattended(Family* family);

  std::map<uint64_t, Launcher> launchers_;
  JobRecords jobs_;
  std::map<uint64_t, Family> families_;
  uint64_t next_family_ = 1;
  LaunchPersistence* persistence_ = nullptr;
  uint32_t grace_ms_ = 0;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_FAMILIES_H_
