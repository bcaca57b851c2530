// The endpoints of local processes, as the runtime sees them. Loop thread only.
#ifndef CANOPY_SERVER_PORTS_CLIENT_PORT_H_
#define CANOPY_SERVER_PORTS_CLIENT_PORT_H_

#include <cstdint>
#include <string>

#include "common/ids.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"

namespace canopy {

// The top 8 bits of core::ClientId: the adapter that holds the connection.
enum class ClientKind : uint8_t { kLocal = 1, kOpenPmix = 2, kPmi = 3 };

// MakeClientId combines the kind of an adapter with the adapter's own number of
// a connection, which is below 2^56. KindOf returns the kind.
inline core::ClientId MakeClientId(ClientKind kind, uint64_t number) {
  return (static_cast<uint64_t>(kind) << 56) | number;
}
inline ClientKind KindOf(core::ClientId id) {
  return static_cast<ClientKind>(id >> 56);
}

// One kind of endpoint for local processes.
class ClientPort {
 public:
  virtual ~ClientPort() = default;
  // AddJob lets the job's ranks of this node connect, until DropJob.
  virtual void AddJob(const core::RegisterJob& job) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
  // Reply, ReleaseFence, Notify and Close have no effect for a client that is
  // not connected.
  virtual void Reply(const core::ReplyClient& reply) = 0;
  // Releases ranks from a fence. Overridden only by adapters that raise
  // core::LocalFenceArrived.
  virtual void ReleaseFence(const core::ReleaseFence& /*release*/) {}
  virtual void Notify(const core::NotifyClient& event) = 0;
  virtual void Close(core::ClientId client, const std::string& reason) = 0;
  // Collects the commits of a local rank that the adapter has not read yet, and
  // reports them to the core. Called when a request may depend on them, and
  // when the rank has ended. kRankUndef and kRankWildcard stand for all ranks
  // of the namespace.
  virtual void TakeCommits(const ProcId& /*proc*/) {}
  // Called when a request waits for a commit of a local rank (kRankUndef: of
  // any rank). Reports outstanding commits at once or, if there are none, the
  // next one as soon as it happens.
  virtual void AwaitCommit(const ProcId& /*proc*/) {}
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_CLIENT_PORT_H_
