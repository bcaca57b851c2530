// The keys and attributes that PMI clients request and this agent knows.
#ifndef CANOPY_SERVER_PMI_KEY_VALUES_H_
#define CANOPY_SERVER_PMI_KEY_VALUES_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "server/pmi/connection.h"
#include "server/pmi/options.h"

namespace canopy::pmi {

// Returns true if a client may put a value under this key. All other keys
// belong to PMIx or to Canopy.
bool IsKey(const std::string& key);

// Returns the PMIx key of an attribute of the node, which is committed with
// local scope. The key is the same as in client/pmi/pmi2_attributes_abi.cc, so
// that one process of a node may use the library and another the wire protocol.
std::string NodeKey(const std::string& name);

// Returns the PMIx key of the value that a rank gives to its neighbours in a
// ring. A ring ends only after all ranks have begun it, so two alternating keys
// suffice: `is_odd` is RankState::odd_ring at the beginning of the ring. The
// key is the same as in client/pmi/pmi2_attributes_abi.cc.
std::string RingKey(bool is_odd, Rank rank);

// These functions return a value only if it is a text that fits into the
// clients' buffers. Loop thread only. The arguments of the constructor must
// outlive this object.
class KeyValues {
 public:
  KeyValues(const PmiOptions* options, const Jobs* jobs)
      : options_(options), jobs_(jobs) {}

  // Finds a key of the client's own job.
  std::optional<std::string> Find(const Connection& c,
                                  const std::string& key) const;
  // Finds a key of another job in the data that has arrived at this agent.
  std::optional<std::string> FindOf(const std::string& job,
                                    const std::string& key) const;
  // Returns the value that the rank gave in a ring that has ended; an empty
  // string if there is none. `is_odd` is as for RingKey.
  std::string RingValue(const Connection& c, bool is_odd, Rank rank) const;
  // Return an attribute of this node or of the client's job; no value if there
  // is none.
  std::optional<std::string> NodeAttribute(const Connection& c,
                                           const std::string& name) const;
  std::optional<std::string> JobAttribute(const Connection& c,
                                          std::string_view name) const;

 private:
  const PmiOptions* const options_;
  const Jobs* const jobs_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_KEY_VALUES_H_
