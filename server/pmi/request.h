// Requests of PMI clients and their replies, independent of the wire protocol.
#ifndef CANOPY_SERVER_PMI_REQUEST_H_
#define CANOPY_SERVER_PMI_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace canopy::pmi {

// Limits that PMI-1 clients get in the answer to get_maxes, and that apply to
// PMI-2 clients too. Terminators are included.
inline constexpr size_t kKvsNameMax = 256;
inline constexpr size_t kKeyMax = 256;
inline constexpr size_t kValueMax = 1024;

// Returns true if this may be the name of a job. Data of any other name is not
// requested.
bool IsJobName(std::string_view name);

enum class Operation : uint8_t {
  kUnknown,
  kInit,
  kFullInit,
  kMaxes,
  kAppNumber,
  kUniverseSize,
  kJobName,
  kPut,
  kGet,
  kFence,
  kRing,
  kFinalize,
  kAbort,
  kPutNodeAttribute,
  kGetNodeAttribute,
  kGetJobAttribute,
  // The following operations change a state that outlives the connection.
  kPublish,
  kUnpublish,
  kLookup,
  kSpawn,
  kConnect,
  kDisconnect,
};

// A request as the client sent it. Only the form that the wire protocol
// requires has been checked.
struct Request {
  Operation operation = Operation::kUnknown;
  std::string name;  // name of the command; empty: this is not a command
  // The client's thread, repeated in the answer; empty if the client does not
  // name it.
  std::string thread;
  bool malformed = false;

  // A key-value space, or the job to connect with. PMI-2 clients omit their own
  // space.
  std::string job;
  std::string key;    // or service
  std::string value;  // or port, text of an abort, version of the protocol
  std::optional<Rank> source;  // rank that may have put the key
  int exit_code = 0;
  bool is_threaded = false;   // kFullInit
  bool waits = false;         // kGetNodeAttribute
  bool aborts_alone = false;  // only the caller is to be ended
  std::string spawn;  // PMI-2: call of PMIx_Spawn, codec form; empty: invalid
};

struct Reply {
  // An error number of PMI-2 (PMI2_ERR_OTHER and others), with the reason in
  // one word.
  int code = 0;
  std::string problem;
  // The requested value; no value if a get finds none.
  std::optional<std::string> value;
  // The further results of kFullInit and kRing, with their names in PMI-2.
  std::vector<std::pair<const char*, std::string>> facts;

  static Reply Error(int code, std::string problem) {
    Reply reply;
    reply.code = code;
    reply.problem = std::move(problem);
    return reply;
  }
  static Reply Of(std::optional<std::string> value) {
    Reply reply;
    reply.value = std::move(value);
    return reply;
  }
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_REQUEST_H_
