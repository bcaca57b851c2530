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

// A process proved its identity and asked for its job's data. A tool is in no
// job: its namespace is its own.
struct ClientConnected {
  ClientId client = 0;
  ProcId proc;
  bool is_tool = false;
  uint32_t uid = 0;            // of a tool, as its rights are
  uint32_t gid = 0;            // likewise; kUnknownGroup: nobody knows
  bool of_other_user = false;  // a tool: not of the agent's
};

// The connection ended.
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
  RequestId request = 0;  // 0: no answer wanted
  std::vector<ScopedData> data;
};

// What a local rank has committed, connected or not, without a message.
struct CommitTaken {
  ProcId proc;
  std::vector<ScopedData> data;
};

struct CollectiveArrived {
  ClientId client = 0;
  RequestId request = 0;
  CollectiveOp op = CollectiveOp::kFence;
  std::vector<ProcId> participants;  // as named; empty: own namespace
  bool collect_data = false;
  uint32_t timeout_ms = 0;  // 0: none
  Bytes info;               // the caller's directives, codec form
  // Of the group. The participants of a destruct may be left out. The reply's
  // payload: codec form, SIZE n, then n INFO, the results of a construct.
  std::string name = {};
};

// PMIx_Group_invite, PMIx_Group_join and PMIx_Group_leave. The reply's payload
// as that of a construct.
struct GroupCallArrived {
  enum class Call : uint8_t { kInvite = 1, kJoin = 2, kLeave = 3 };

  ClientId client = 0;
  RequestId request = 0;
  Call call = Call::kLeave;
  std::string name;
  std::vector<ProcId> procs;  // whom it invites; or who has invited it
  bool accepts = false;       // of joins
  uint32_t timeout_ms = 0;    // 0: none
  Bytes info;                 // the caller's directives, codec form
};

struct GetArrived {
  ClientId client = 0;
  RequestId request = 0;
  ProcId target;    // rank may be kRankUndef or kRankWildcard
  std::string key;  // empty: everything of the target
  bool immediate = false;
  bool refresh = false;
  uint32_t timeout_ms = 0;
};

// PMIx_Publish: `info` holds the data and the directives as the caller gave
// them (codec form: SIZE n, then n INFO).
struct PublishArrived {
  ClientId client = 0;
  RequestId request = 0;
  Bytes info;
};

// PMIx_Lookup. The reply's payload: codec form, SIZE n, then n PDATA, those
// found.
struct LookupArrived {
  ClientId client = 0;
  RequestId request = 0;
  std::vector<std::string> keys;
  Bytes info;
};

// PMIx_Unpublish; no keys: all of the caller's. The reply's payload: how many
// publications are withdrawn, in decimal digits.
struct UnpublishArrived {
  ClientId client = 0;
  RequestId request = 0;
  std::vector<std::string> keys;
  Bytes info;
};

struct AbortArrived {
  ClientId client = 0;
  RequestId request = 0;
  int status = 0;
  std::string text;
  std::vector<ProcId> targets;
};

// PMIx_Spawn: `call` is codec form: SIZE n, n INFO (job level), SIZE m, m APP.
// The reply's payload is the new namespace (text).
struct SpawnArrived {
  ClientId client = 0;
  RequestId request = 0;
  Bytes call;
};

// PMIx_Query_info: `queries` is codec form: SIZE n, n QUERY. The reply's
// payload, also of a partial success: codec form, SIZE n, n INFO.
struct QueryArrived {
  ClientId client = 0;
  RequestId request = 0;
  Bytes queries;
};

struct FinalizeArrived {
  ClientId client = 0;
  RequestId request = 0;
};

// Which event codes a client wants from now on. `all` is the default handler.
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
  // Tells this from all other events of the source, and is the same when it is
  // raised again under a successor; 0: it has no such number.
  uint64_t id = 0;
  int status = 0;
  ProcId source;
  uint8_t range = 0;
  std::vector<ProcId> targets;
  Bytes info;
};

// A process reattached that had been connected to a predecessor: how many
// collectives of each series have ended for it. Precedes the requests that it
// resends.
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
