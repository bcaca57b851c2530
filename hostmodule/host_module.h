// What an agent asks of whoever manages the resources: one function for each
// slot of pmix_server_module_t, in its order. A scheduler behind gRPC, C
// callbacks and the embedded host are implementations.
#ifndef CANOPY_HOSTMODULE_HOST_MODULE_H_
#define CANOPY_HOSTMODULE_HOST_MODULE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"
#include "hostmodule/map_request.h"

namespace canopy::host {

// Answers. Each is called exactly once, on the loop thread, possibly from
// within the call that it answers. A status is a PMIx status.
using StatusReply = std::function<void(Status status)>;
// With directives or results: codec form, SIZE n, then n INFO.
using InfoReply = std::function<void(Status status, Bytes info)>;
// With collected data, as the participants gave it.
using DataReply = std::function<void(Status status, Bytes data)>;
using NspaceReply = std::function<void(Status status, std::string nspace)>;
using ProcReply = std::function<void(Status status, ProcId proc)>;

// Who asks.
struct Requester {
  ProcId proc;
  uint32_t uid = 0;
  uint32_t gid = 0;
};

enum class GroupOperation : uint8_t { kConstruct, kDestruct };
enum class AllocationKind : uint8_t {
  kNew = 1,
  kExtend = 2,
  kRelease = 3,
  kReacquire = 4,
};

// A slot that an implementation does not override answers
// kErrNotSupported at once, so nothing ever waits for it. All calls happen on
// the loop thread and must not block. `info` is the caller's directives in
// codec form; `procs` with rank kRankWildcard stand for whole namespaces.
class HostModule {
 public:
  virtual ~HostModule() = default;

  // Also the slot client_connected2: `info` is empty for the former.
  virtual void ClientConnected(const ProcId& proc, const Bytes& info,
                               StatusReply reply);
  virtual void ClientFinalized(const ProcId& proc, StatusReply reply);
  // Ends `targets`; empty: the requester's whole namespace.
  virtual void Abort(const Requester& who, int status,
                     const std::string& message,
                     const std::vector<ProcId>& targets, StatusReply reply);
  virtual void Fence(const std::vector<ProcId>& procs, const Bytes& info,
                     const Bytes& data, DataReply reply);
  virtual void DirectModex(const ProcId& target, const Bytes& info,
                           DataReply reply);
  virtual void Publish(const Requester& who, const Bytes& info,
                       StatusReply reply);
  virtual void Lookup(const Requester& who,
                      const std::vector<std::string>& keys, const Bytes& info,
                      InfoReply reply);
  // No keys: everything that the requester published.
  virtual void Unpublish(const Requester& who,
                         const std::vector<std::string>& keys,
                         const Bytes& info, StatusReply reply);
  // Allocates, maps and launches; answered when the job runs or can not.
  virtual void Spawn(const Requester& who, const MapRequest& job,
                     NspaceReply reply);
  virtual void Connect(const std::vector<ProcId>& procs, const Bytes& info,
                       StatusReply reply);
  virtual void Disconnect(const std::vector<ProcId>& procs, const Bytes& info,
                          StatusReply reply);
  // No codes: all events.
  virtual void RegisterEvents(const std::vector<int>& codes, const Bytes& info,
                              StatusReply reply);
  virtual void DeregisterEvents(const std::vector<int>& codes,
                                StatusReply reply);
  // A listening socket of the host's own that the agent may serve.
  virtual void Listener(int fd, StatusReply reply);
  virtual void NotifyEvent(int code, const ProcId& source, uint8_t range,
                           const Bytes& info, StatusReply reply);
  virtual void Query(const Requester& who, const Bytes& queries,
                     InfoReply reply);
  // Also tool_connected2. The answer is the identity that the tool gets.
  virtual void ToolConnected(const Bytes& info, ProcReply reply);
  // Also log2.
  virtual void Log(const Requester& who, const Bytes& data, const Bytes& info,
                   StatusReply reply);
  virtual void Allocate(const Requester& who, AllocationKind kind,
                        const Bytes& info, InfoReply reply);
  virtual void JobControl(const Requester& who,
                          const std::vector<ProcId>& targets, const Bytes& info,
                          InfoReply reply);
  virtual void Monitor(const Requester& who, const Bytes& what, int error,
                       const Bytes& info, InfoReply reply);
  virtual void GetCredential(const Requester& who, const Bytes& info,
                             DataReply reply);
  virtual void ValidateCredential(const Requester& who, const Bytes& credential,
                                  const Bytes& info, InfoReply reply);
  // `channels`: pmix_iof_channel_t bits.
  virtual void IofPull(const std::vector<ProcId>& procs, uint16_t channels,
                       const Bytes& info, StatusReply reply);
  // Empty data: end of input.
  virtual void PushStdin(const ProcId& source,
                         const std::vector<ProcId>& targets, const Bytes& info,
                         const Bytes& data, StatusReply reply);
  virtual void Group(GroupOperation operation, const std::string& group,
                     const std::vector<ProcId>& procs, const Bytes& info,
                     InfoReply reply);
  virtual void Fabric(const Requester& who, int operation, const Bytes& info,
                      InfoReply reply);
  virtual void SessionControl(const Requester& who, uint32_t session,
                              const Bytes& info, InfoReply reply);
  virtual void ResourceBlock(const Requester& who, int directive,
                             const std::string& block, const Bytes& units,
                             const Bytes& info, StatusReply reply);
};

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_HOST_MODULE_H_
