// A family: the job that a launcher requested, and all jobs spawned from it.
#ifndef CANOPY_SERVER_CONTROL_FAMILY_H_
#define CANOPY_SERVER_CONTROL_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/core/step/control_actions.h"

namespace canopy::control {

// The value of PMIX_ERR_JOB_TERM_WO_SYNC: the job was ended because another job
// failed.
inline constexpr int kErrJobTermWoSync = -185;

// Limits for the jobs of one family. A program that spawns itself would
// otherwise take all nodes, because each of its jobs is small. Without a
// scheduler only slots limit their number, and the program may oversubscribe
// these.
struct SpawnQuota {
  size_t under_way = 1024;  // jobs of the family that are not over
  size_t total = 65536;     // jobs that the family has ever had
};

// A family has one launcher, which receives the output and the end of all its
// jobs. The family is over when its last job is over. The object only stores
// state; it is used by one thread.
class Family {
 public:
  explicit Family(std::string first) : first_(std::move(first)) {
    jobs_.insert(first_);
  }

  // Returns the namespace of the job that the launcher requested.
  const std::string& first() const { return first_; }
  // Returns the jobs that are not over.
  const std::set<std::string>& jobs() const { return jobs_; }
  bool over() const { return jobs_.empty(); }

  void Add(const std::string& nspace) {
    jobs_.insert(nspace);
    ++total_;
  }
  // Returns the reason why no further job may be spawned, or an empty string if
  // one may be. A successor counts only the jobs that it has recovered.
  std::string RefusalOfSpawn(const SpawnQuota& quota) const;
  // Records the end of a job as a failure of the family, if the end is a
  // failure. Called as soon as the failure is known, and only for jobs whose
  // failures count for the family.
  void OnFailing(const std::string& nspace, const v1::JobEnd& end);
  // Records that a job is over. A job whose failure does not count is reported
  // as if it had succeeded.
  void OnEnded(const std::string& nspace, const v1::JobEnd& end);
  // Returns the end that the launcher reports: the end of the first job if that
  // job has failed, otherwise the first failure of another job. The end of a
  // job by request is not a failure, unless the end of the whole family was
  // requested. Called only when the family is over.
  v1::JobEnd Conclusion() const;

  // Keeps the record of a job that is over, because its spawner may repeat the
  // request. If records of too many requests of this spawner are kept, returns
  // the jobs of the oldest request, whose records are no longer needed.
  std::vector<std::string> KeepRecord(const std::string& nspace,
                                      const ProcId& spawner,
                                      core::RequestId request);
  // Returns all jobs that are over and whose records are kept.
  std::vector<std::string> kept() const;

  uint64_t id = 0;         // identifies the family
  uint64_t launcher = 0;   // 0: no launcher is connected
  std::string token;       // of the launcher; empty: it cannot reattach
  bool abandoned = false;  // the launcher is gone, and all jobs are being ended
  // True if the launcher is gone for good, but some jobs continue.
  bool unattended = false;
  bool killed = false;  // the end of all jobs was requested
  // Requests to spawn that wait until the launcher has reattached, because the
  // launcher receives the output of their jobs.
  std::vector<core::HostSpawn> held_spawns;
  // Set if the launcher shall request the job again when the family is over.
  // The end of the family by request cancels this.
  std::optional<v1::JobRequeued> requeued;
  // The number of bytes of input that were consumed. No value: only a
  // predecessor knew the number.
  std::optional<uint64_t> input_done = 0;

 private:
  struct Kept {
    std::string nspace;
    ProcId spawner;
    core::RequestId request = 0;
  };

  const std::string first_;
  std::set<std::string> jobs_;
  size_t total_ = 1;
  std::optional<v1::JobEnd> first_end_;
  std::optional<v1::JobEnd> failure_;  // the first failure of another job
  std::deque<Kept> kept_;              // oldest first
};

// A job that must end because another job has failed.
struct Consequence {
  std::string nspace;
  std::string reason;  // one line
};

// Returns those of `jobs` that end when the job `failed` ends abnormally: the
// jobs that it has spawned, unless they were separated, and, if `with_parent`,
// the job that has spawned it. Further jobs follow when these end in turn. A
// job that ends because its launcher is gone does not end jobs that continue
// without a launcher.
std::vector<Consequence> ConsequencesOf(const JobSpec& failed,
                                        const LaunchFacts& facts,
                                        bool with_parent,
                                        const JobRecords& jobs);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_FAMILY_H_
