// Inputs of the core from local processes, reported by their endpoint.
#ifndef CANOPY_SERVER_CORE_STEP_CLIENT_INPUTS_H_
#define CANOPY_SERVER_CORE_STEP_CLIENT_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

inline constexpr uint32_t kUnknownGroup = UINT32_MAX;

// Reports that a process has proved its identity and requested its job's data.
// A tool is in no job and has a namespace of its own.
struct ClientConnected {
  ClientId client = 0;
  ProcId proc;
  bool is_tool = false;
  uint32_t uid = 0;            // a tool's user, whose rights it has
  uint32_t gid = 0;            // a tool's group; kUnknownGroup: unknown
  bool of_other_user = false;  // a tool whose user is not the agent's
};

// Reports that the connection has ended.
struct ClientGone {
  ClientId client = 0;
};

enum class Scope : uint8_t { kLocal = 1, kRemote = 2, kGlobal = 3 };

// Keys committed with one scope: codec-form KVALs, back to back. A later value
// of a key replaces the earlier one.
struct ScopedData {
  Scope scope = Scope::kGlobal;
  Bytes kvals;
};

struct Committed {
  ClientId client = 0;
  RequestId request = 0;  // 0: no reply is needed
  std::vector<ScopedData> data;
};

// Reports that a local rank, connected or not, has committed data without a
// message.
struct CommitTaken {
  ProcId proc;
  std::vector<ScopedData> data;
};

struct CollectiveArrived {
  ClientId client = 0;
  RequestId request = 0;
  CollectiveOp op = CollectiveOp::kFence;
  // as named in the call; empty: the caller's whole namespace
  std::vector<ProcId> participants;
  bool collect_data = false;
  uint32_t timeout_ms = 0;  // 0: no limit
  Bytes info;               // the caller's directives, codec form
  // The name of the group. The participants of a destruct may be left out. The
  // reply's payload has the results of a construct in codec form: SIZE n, then
  // n INFO.
  std::string name = {};
  // True if this arrival was made from a LocalFenceArrived; it is then answered
  // by a ReleaseFence instead of a ReplyClient.
  bool at_barrier = false;
};

// Reports that processes of one job wait in its barrier
// (server/local/fence_barrier.h) at a fence over the whole job. The answer is
// one ReleaseFence for all of them, or several, each for some of them.
struct LocalFenceArrived {
  std::vector<ClientId> clients;  // at least one
  bool collect_data = false;
};

// A call of PMIx_Group_invite, PMIx_Group_join or PMIx_Group_leave. The reply's
// payload has the same form as that of a construct.
struct GroupCallArrived {
  enum class Call : uint8_t { kInvite = 1, kJoin = 2, kLeave = 3 };

  ClientId client = 0;
  RequestId request = 0;
  Call call = Call::kLeave;
  std::string name;
  // the invited processes, or the process that invited the caller
  std::vector<ProcId> procs;
  bool accepts = false;     // a join accepts the invitation
  uint32_t timeout_ms = 0;  // 0: no limit
  Bytes info;               // the caller's directives, codec form
};

// A get of a process, such as a call of PMIx_Get, that its endpoint cannot
// answer.
struct GetArrived {
  ClientId client = 0;
  RequestId request = 0;
  ProcId target;    // rank may be kRankUndef or kRankWildcard
  std::string key;  // empty: all keys of the target
  // PMIX_IMMEDIATE: the get fails instead of waiting for data that this agent
  // does not have.
  bool immediate = false;
  // PMIX_GET_REFRESH_CACHE: the data is requested again from the target's
  // agent, even if this agent has data of the target.
  bool refresh = false;
  uint32_t timeout_ms = 0;  // 0: no limit
};

// A call of PMIx_Publish. `info` has the data and the directives as the caller
// passed them (codec form: SIZE n, then n INFO).
struct PublishArrived {
  ClientId client = 0;
  RequestId request = 0;
  Bytes info;
};

// A call of PMIx_Lookup. The reply's payload has the PDATA found, in codec
// form: SIZE n, then n PDATA.
struct LookupArrived {
  ClientId client = 0;
  RequestId request = 0;
  std::vector<std::string> keys;
  Bytes info;
};

// A call of PMIx_Unpublish. No keys means all keys of the caller. The reply's
// payload is the number of publications withdrawn, in decimal digits.
struct UnpublishArrived {
  ClientId client = 0;
  RequestId request = 0;
  std::vector<std::string> keys;
  Bytes info;
};

// A call of PMIx_Abort or of a similar function of another library.
struct AbortArrived {
  ClientId client = 0;
  RequestId request = 0;
  int status = 0;
  std::string text;
  std::vector<ProcId> targets;  // empty: the caller's whole namespace
};

// A call of PMIx_Spawn. `call` is in codec form: SIZE n, n INFO (job level),
// SIZE m, m APP. The reply's payload is the new namespace (text).
struct SpawnArrived {
  ClientId client = 0;
  RequestId request = 0;
  Bytes call;
};

// A call of PMIx_Query_info. `queries` is in codec form: SIZE n, n QUERY. The
// reply's payload, also after a partial success, is in codec form: SIZE n, n
// INFO.
struct QueryArrived {
  ClientId client = 0;
  RequestId request = 0;
  Bytes queries;
};

struct FinalizeArrived {
  ClientId client = 0;
  RequestId request = 0;
};

// Subscribes a client to event codes. `all` stands for the default handler.
struct EventsWanted {
  ClientId client = 0;
  RequestId request = 0;
  bool all = false;
  std::vector<int> codes;
};

struct EventsUnwanted {
  ClientId client = 0;
  bool all = false;
  std::vector<int> codes;
};

struct EventRaised {
  ClientId client = 0;  // 0: raised by the agent itself
  RequestId request = 0;
  // Distinguishes the event from all other events of the source. The number is
  // the same if the event is raised again under a successor. 0: the event has
  // no number.
  uint64_t id = 0;
  int status = 0;
  ProcId source;
  uint8_t range = 0;            // pmix_data_range_t
  std::vector<ProcId> targets;  // as in EventMessage
  Bytes info;                   // codec form: SIZE n, then n INFO
  // As EventMessage::user, for an event that the agent raises. An event of a
  // client is always of the client's user.
  uint64_t user = 0;
};

// The number of collectives of one series that have ended for a process. The
// process was connected to a predecessor, has reattached, and reports the count
// before it resends its requests.
struct CollectiveCount {
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;  // as in CollectiveArrived
  uint64_t ended = 0;
  std::string name = {};
};

struct ClientReattached {
  ClientId client = 0;
  std::vector<CollectiveCount> counts;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CLIENT_INPUTS_H_
