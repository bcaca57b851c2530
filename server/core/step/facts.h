// Facts that the core does not store: job data as the processes of a job see
// it, and the amount of memory used. They are read when a query requests them.
#ifndef CANOPY_SERVER_CORE_STEP_FACTS_H_
#define CANOPY_SERVER_CORE_STEP_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/usage.h"

namespace canopy::core {

// The part of a job that a key belongs to.
enum class DataRealm : uint8_t {
  kAny,  // the key's default realm
  kSession,
  kJob,
  kApp,
  kNode,
  kProc,
};

// One key of the data of a job.
struct DataKey {
  ProcId proc;  // kRankWildcard: data that belongs to no single process
  std::string key;
  DataRealm realm = DataRealm::kAny;
  // The application or node. No value: the application of the process, or this
  // node.
  std::optional<uint32_t> appnum = std::nullopt;
  std::optional<uint32_t> nodeid = std::nullopt;
  std::string hostname = {};
  std::optional<uint32_t> session_id = std::nullopt;
};

// Maximum number of bytes of all values of one ReadFacts.
inline constexpr size_t kMaxFacts = size_t{16} << 20;

// Action: requests that these facts be read. The answer is FactsRead.
struct ReadFacts {
  uint64_t number = 0;
  std::vector<DataKey> keys;
  std::vector<int> pids;   // local processes whose memory is requested
  bool agent = false;      // this agent's memory is requested
  UsageFields usage = {};  // statistics of this node and of `users`
  // local processes whose statistics are requested
  std::vector<int> users = {};
};

// Input: the answer to ReadFacts.
struct FactsRead {
  uint64_t number = 0;  // number of the ReadFacts
  // VALUEs in codec form, in the order of `keys`; empty: none
  std::vector<Bytes> values;
  // resident bytes, in the order of `pids`; 0: the process has ended
  std::vector<uint64_t> pids;
  uint64_t agent = 0;     // resident bytes
  bool too_much = false;  // the values exceed kMaxFacts
  // Statistics in codec form (SIZE n, then n INFO), in the order of `users`;
  // empty: the process has ended, or its statistics may not be read.
  std::vector<Bytes> users = {};
  Bytes node = {};  // statistics of the node in the same form; empty: none
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_FACTS_H_
