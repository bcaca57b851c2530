// Paths that processes have registered for removal at their end. The server
// removes them without calling the host.
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

// A host in C does not report the end of a process. So a process counts as
// ended when its connection is lost, or when the host deregisters it. Loop
// thread only.
class Cleanups {
 public:
  // `jobs` outlives this object.
  explicit Cleanups(const HostedJobs* jobs);
  // Removes all paths that are still registered.
  ~Cleanups();
  Cleanups(const Cleanups&) = delete;
  Cleanups& operator=(const Cleanups&) = delete;

  // Registers the paths of a call. Returns the status of a call that only
  // registers paths, and no value for any other call. Paths are removed later
  // with the rights of the caller's user.
  std::optional<int> Take(const HostCaller& caller,
                          const core::HostCallArrived& in);
  // Remove the paths that the process, or the processes of the job, have
  // registered.
  void OnEnd(const ProcId& proc);
  void DropJob(const std::string& nspace) { registry_.DropJob(nspace); }

 private:
  const HostedJobs& jobs_;
  cleanup::CleanupRegistry registry_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_CLEANUPS_H_
