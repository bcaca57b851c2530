// What processes want removed when they end: the host is not asked.
#ifndef CANOPY_SERVER_LIBRARY_CLEANUPS_H_
#define CANOPY_SERVER_LIBRARY_CLEANUPS_H_

#include <optional>
#include <string>

#include "common/ids.h"
#include "server/cleanup/cleanup.h"
#include "server/core/step/host.h"
#include "server/library/hosted_jobs.h"
#include "server/library/requestor.h"

namespace canopy::library {

// Loop thread only. A host in C tells nobody when a process ends; so it has
// when its connection is lost, or when the host does not know it any more.
class Cleanups {
 public:
  // `jobs` outlives this.
  explicit Cleanups(const HostedJobs* jobs);
  // What is still registered is carried out.
  ~Cleanups();
  Cleanups(const Cleanups&) = delete;
  Cleanups& operator=(const Cleanups&) = delete;

  // The status of a call that registers paths and asks for nothing else;
  // nothing for any other call. What is removed later is removed with the
  // rights of the caller's user.
  std::optional<int> Take(const HostCaller& caller,
                          const core::HostCallArrived& in);
  void OnEnd(const ProcId& proc);
  void DropJob(const std::string& nspace) { registry_.DropJob(nspace); }

 private:
  const HostedJobs& jobs_;
  cleanup::CleanupRegistry registry_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_CLEANUPS_H_
