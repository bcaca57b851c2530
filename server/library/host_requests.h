// Requests of processes that the host answers itself: each request becomes a
// call of a function of the host, whose answer becomes the reply.
#ifndef CANOPY_SERVER_LIBRARY_HOST_REQUESTS_H_
#define CANOPY_SERVER_LIBRARY_HOST_REQUESTS_H_

#include <functional>
#include <memory>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"
#include "pmix_server.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/host.h"
#include "server/library/host_calls.h"
#include "server/library/requestor.h"
#include "server/library/upcalls.h"

namespace canopy::library {

// If the host does not have a function, the request fails with
// kErrNotSupported; a malformed request fails with kErrUnpackFailure. Each
// request contains the user of its caller (PMIX_USERID, PMIX_GRPID). Loop
// thread only.
class HostRequests {
 public:
  // Sends the answer to a request, either before the function that received the
  // request returns or later.
  using Answer =
      std::function<void(core::ClientId client, core::RequestId request,
                         int status, std::string payload)>;

  // `module` and `upcalls` outlive the object.
  HostRequests(const canopy_server_module_t* module, Upcalls* upcalls,
               Answer answer)
      : module_(module),
        upcalls_(upcalls),
        calls_(module, upcalls),
        answer_(std::move(answer)) {}

  void Publish(const HostCaller& caller, const core::PublishArrived& in);
  void Lookup(const HostCaller& caller, const core::LookupArrived& in);
  void Unpublish(const HostCaller& caller, const core::UnpublishArrived& in);
  void Spawn(const HostCaller& caller, const core::SpawnArrived& in);
  // Spawns a job for the host's own process, with the directives of `call`
  // only.
  using Spawned = std::function<void(int status, const std::string& nspace)>;
  void SpawnForHost(const ProcId& self, const Bytes& call, Spawned done);
  void Query(const HostCaller& caller, const core::QueryArrived& in);
  void ControlJob(const HostCaller& caller, const core::HostCallArrived& in);
  // Handles a call of HostOp::kPushInput.
  void PushInput(const HostCaller& caller, const core::HostCallArrived& in);

 private:
  struct Arguments;
  using Shared = std::shared_ptr<Arguments>;

  static bool ReadSpawn(const Bytes& call, Arguments* a);
  void CallSpawn(const Shared& a, Spawned done);

  // Rejects a request. `in` is any input with a client and a request number.
  template <typename Arrived>
  void Refuse(const Arrived& in, int status) const;
  // Returns the handler that replies with the host's status, and with the infos
  // if the host has returned any.
  Upcalls::Done Reply(core::ClientId client, core::RequestId request) const;

  const canopy_server_module_t* const module_;
  Upcalls* const upcalls_;
  HostCalls calls_;
  const Answer answer_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_REQUESTS_H_
