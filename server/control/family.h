// A job that a launcher asked for, and the jobs that were spawned from it.
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

// PMIX_ERR_JOB_TERM_WO_SYNC: of a job that was ended because of another.
inline constexpr int kErrJobTermWoSync = -185;

// Has one launcher, which gets the output and the end of all of it. It is over
// when its last job is. Book-keeping only; one thread.
class Family {
 public:
  explicit Family(std::string first) : first_(std::move(first)) {
    jobs_.insert(first_);
  }

  // The namespace of the job that the launcher asked for.
  const std::string& first() const { return first_; }
  // Those that are not over.
  const std::set<std::string>& jobs() const { return jobs_; }
  bool over() const { return jobs_.empty(); }

  void Add(const std::string& nspace) { jobs_.insert(nspace); }
  // The job's failure, if it is a failure, from the moment it is known.
  // Only of one that counts for the family.
  void OnFailing(const std::string& nspace, const v1::JobEnd& end);
  // One that does not count, as if it had ended well.
  void OnEnded(const std::string& nspace, const v1::JobEnd& end);
  // The end that the launcher is told: that of the first job, or the first
  // failure of another where the first job ended well or because of it. Another
  // job that a process had ended is no failure. Only once the family is over.
  v1::JobEnd Conclusion() const;

  // The record of a job that is over stays, because its spawner may ask for it
  // again. Returns the jobs whose records are not needed any more: those of the
  // spawner's oldest request.
  std::vector<std::string> KeepRecord(const std::string& nspace,
                                      const ProcId& spawner,
                                      core::RequestId request);
  // All jobs that are over and whose records are left.
  std::vector<std::string> kept() const;

  uint64_t id = 0;         // among the families that are here
  uint64_t launcher = 0;   // 0: none is here
  std::string token;       // of its launcher; empty: it cannot reattach
  bool abandoned = false;  // its launcher is gone, so that it is being ended
  // Its launcher is gone and does not come back, but some of it goes on.
  bool unattended = false;
  bool killed = false;  // all of it was told to end
  // While the launcher is to come back, as it takes their jobs' output.
  std::vector<core::HostSpawn> held_spawns;
  // It is asked for anew when it is over, unless it is killed first.
  std::optional<v1::JobRequeued> requeued;
  // Input that was consumed; none: known to a predecessor only.
  std::optional<uint64_t> input_done = 0;

 private:
  struct Kept {
    std::string nspace;
    ProcId spawner;
    core::RequestId request = 0;
  };

  const std::string first_;
  std::set<std::string> jobs_;
  std::optional<v1::JobEnd> first_end_;
  std::optional<v1::JobEnd> failure_;  // the first of another job
  std::deque<Kept> kept_;              // the oldest first
};

// Why a job is to end because of another.
struct Consequence {
  std::string nspace;
  std::string reason;  // one line
};

// Those of `jobs` that end when the job `failed` ends abnormally: what it has
// spawned, unless that was separated, and, `with_parent`, what has spawned it.
// What these in turn mean for others follows from their own ends. The end of a
// job with its launcher is none of those that go on without.
std::vector<Consequence> ConsequencesOf(const JobSpec& failed,
                                        const LaunchFacts& facts,
                                        bool with_parent,
                                        const JobRecords& jobs);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_FAMILY_H_
