// What processes need in their environment to find this server.
#ifndef CANOPY_SERVER_LIBRARY_ENVIRONMENTS_H_
#define CANOPY_SERVER_LIBRARY_ENVIRONMENTS_H_

#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/mutex.h"

namespace canopy::library {

// One for the process. Some hosts ask for it in the process that is to be the
// rank, after a fork and before it executes its program: there, too, it can be
// looked up, as nothing is done for that but reading. Any thread.
class Environments {
 public:
  using Entries = std::vector<std::string>;  // NAME=VALUE

  static Environments& OfProcess();

  // For every rank of a job here, and for one rank on top of that.
  void SetJob(const std::string& nspace, Entries entries);
  void SetRank(const ProcId& proc, Entries entries);
  void Drop(const std::string& nspace);
  void Clear();

  // Empty: the process is not one of this node.
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
