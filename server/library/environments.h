// The environment variables by which processes find this server.
#ifndef CANOPY_SERVER_LIBRARY_ENVIRONMENTS_H_
#define CANOPY_SERVER_LIBRARY_ENVIRONMENTS_H_

#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/mutex.h"

namespace canopy::library {

// There is one object for the whole process. Some hosts read it after a fork,
// in the child that becomes the rank, before the child executes its program.
// This is possible because such a host only looks values up. Any thread.
class Environments {
 public:
  using Entries = std::vector<std::string>;  // NAME=VALUE

  static Environments& OfProcess();

  // Set the variables of all local ranks of a job, and the additional variables
  // of one rank.
  void SetJob(const std::string& nspace, Entries entries);
  void SetRank(const ProcId& proc, Entries entries);
  // Remove the variables of a job, or of all jobs.
  void Drop(const std::string& nspace);
  void Clear();

  // Returns the variables of a process; an empty list if it is not on this
  // node.
  Entries Of(const ProcId& proc);

 private:
  struct Job {
    Entries entries;
    std::map<Rank, Entries> ranks;
  };

  Environments();

  Mutex mutex_;
  std::map<std::string, Job> jobs_ CANOPY_GUARDED_BY(mutex_);
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_ENVIRONMENTS_H_
