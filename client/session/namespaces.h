// The jobs whose data this process can read.
#ifndef CANOPY_CLIENT_SESSION_NAMESPACES_H_
#define CANOPY_CLIENT_SESSION_NAMESPACES_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/session/job_view.h"
#include "common/mutex.h"

namespace canopy::client {

// Thread-safe. The process's own job is known from the start and needs no lock.
// Jobs stay readable as long as the object exists, even after they were
// replaced.
class Namespaces {
 public:
  Namespaces(std::string own_nspace, std::unique_ptr<JobView> own);

  const std::string& own_nspace() const { return own_nspace_; }
  const JobView& own() const { return *own_.load(std::memory_order_acquire); }

  // Returns null if this process cannot read that namespace yet.
  const JobView* Find(std::string_view nspace) const;

  // Replaces the data of this process's own job by the segment of a successor
  // agent.
  void ReplaceOwn(std::unique_ptr<JobView> own);
  // Adds a namespace or replaces its data.
  void Add(std::string nspace, std::unique_ptr<JobView> job);

  // Returns all jobs; this process's own job is the first.
  std::vector<std::pair<std::string, const JobView*>> All() const;

 private:
  const std::string own_nspace_;
  std::atomic<const JobView*> own_;
  mutable SharedMutex mu_;
  std::map<std::string, std::unique_ptr<JobView>, std::less<>> others_
      CANOPY_GUARDED_BY(mu_);
  // Replaced data of the process's own job and of other jobs.
  std::vector<std::unique_ptr<JobView>> replaced_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_NAMESPACES_H_
