// Converts calls of HostOp into calls of the host's functions.
#ifndef CANOPY_SERVER_LIBRARY_HOST_CALLS_H_
#define CANOPY_SERVER_LIBRARY_HOST_CALLS_H_

#include <functional>
#include <memory>
#include <string>

#include "common/values/info_list.h"
#include "pmix_server.h"
#include "server/core/step/host.h"
#include "server/library/upcalls.h"

namespace canopy::library {

// Returns the results of a host's function in codec form (SIZE n, then n INFO);
// empty if there are none, or if one has a type that cannot be encoded.
std::string EncodeResults(const InfoList& infos);

// Each call contains the user of its caller (PMIX_USERID, PMIX_GRPID). Loop
// thread only.
class HostCalls {
 public:
  // Receives the host's status, and its results as EncodeResults encodes them.
  using Done = std::function<void(int status, std::string results)>;

  // `module` and `upcalls` outlive the object.
  HostCalls(const canopy_server_module_t* module, Upcalls* upcalls)
      : module_(*module), upcalls_(*upcalls) {}

  // Calls the host's function. If the result is kSuccess, `done` is called
  // later on the loop's thread, if the host ever answers; otherwise `done` is
  // not called. Returns kErrNotSupported for a function that the host does not
  // have, and kErrUnpackFailure for a malformed call.
  int Call(const core::AskHost& ask, Done done);

 private:
  struct Arguments;
  using Shared = std::shared_ptr<Arguments>;

  int ControlJob(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int Allocate(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int Monitor(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int Log(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int ControlSession(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int BlockResources(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int GetCredential(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int Validate(const core::AskHost& ask, Shared a, Upcalls::Done done);
  int Fabric(const core::AskHost& ask, Shared a, Upcalls::Done done);

  const canopy_server_module_t& module_;
  Upcalls& upcalls_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_CALLS_H_
