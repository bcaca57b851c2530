// Facts that the core does not keep: job data as the processes of a job see
// it, and how much memory is used. Read when a query asks for them.
#ifndef CANOPY_SERVER_CORE_STEP_FACTS_H_
#define CANOPY_SERVER_CORE_STEP_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// Of which part of a job a key is.
enum class DataRealm : uint8_t {
  kAny,  // the key's own
  kSession,
  kJob,
  kApp,
  kNode,
  kProc,
};

// One key of the data of a job.
struct DataKey {
  ProcId proc;  // the rank may be kRankWildcard: of no process
  std::string key;
  DataRealm realm = DataRealm::kAny;
  // Which application or node; none: the process's, or this node.
  std::optional<uint32_t> appnum = std::nullopt;
  std::optional<uint32_t> nodeid = std::nullopt;
  std::string hostname = {};
  std::optional<uint32_t> session_id = std::nullopt;
};

// Bytes of all values that one ReadFacts reads.
inline constexpr size_t kMaxFacts = size_t{16} << 20;

// Action: read these; answered by FactsRead.
struct ReadFacts {
  uint64_t number = 0;
  std::vector<DataKey> keys;
  std::vector<int> pids;  // of processes here, whose memory is wanted
  bool agent = false;     // and that of this agent
};

// Input.
struct FactsRead {
  uint64_t number = 0;         // of the ReadFacts
  std::vector<Bytes> values;   // VALUEs in codec form, as `keys`; empty: none
  std::vector<uint64_t> pids;  // resident bytes, as `pids`; 0: it has ended
  uint64_t agent = 0;          // resident bytes
  bool too_much = false;       // the values would be larger than kMaxFacts
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_FACTS_H_
