// What PMI clients ask for and what they are told, whichever wire protocol they
// speak.
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

// What PMI-1 clients are promised in answer to get_maxes, and PMI-2 clients are
// held to as well; terminators included.
inline constexpr size_t kKvsNameMax = 256;
inline constexpr size_t kKeyMax = 256;
inline constexpr size_t kValueMax = 1024;

// That of some job, for all that is known: what is none is asked of nobody.
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
  // These change what lives longer than the connection.
  kPublish,
  kUnpublish,
  kLookup,
  kSpawn,
  kConnect,
  kDisconnect,
};

// As the client sent it: nothing of it has been checked but what a wire
// protocol demands of its form.
struct Request {
  Operation operation = Operation::kUnknown;
  std::string name;    // of the command; empty: this is none
  std::string thread;  // of the client, for the answer; empty: not named
  bool malformed = false;

  // A key-value space, the job to connect with. PMI-2 clients leave their own
  // out.
  std::string job;
  std::string key;    // or service
  std::string value;  // or port, text of an abort, version of the protocol
  std::optional<Rank> source;  // whose key that may be
  int exit_code = 0;
  bool is_threaded = false;   // kFullInit
  bool waits = false;         // kGetNodeAttribute
  bool aborts_alone = false;  // only the caller is to be ended
  std::string spawn;  // PMI-2: for PMIx_Spawn, codec form; empty: unclear
};

struct Reply {
  // As PMI-2 numbers errors (PMI2_ERR_OTHER and the like), with the reason in
  // one word.
  int code = 0;
  std::string problem;
  // What was asked for. Of a get: nothing when it is not there.
  std::optional<std::string> value;
  // kFullInit, kRing: under the names of PMI-2.
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
