// What this agent knows of the keys and attributes that PMI clients ask for.
#ifndef CANOPY_SERVER_PMI_KEY_VALUES_H_
#define CANOPY_SERVER_PMI_KEY_VALUES_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "server/pmi/connection.h"
#include "server/pmi/options.h"

namespace canopy::pmi {

// Whether a client may put something under that key: the others belong to PMIx
// or to us.
bool IsKey(const std::string& key);

// The PMIx key of an attribute of the node, which is committed with scope
// local. As client/pmi/pmi2_attributes_abi.cc has it, so that processes of one
// node may speak through our library or the wire protocol.
std::string NodeKey(const std::string& name);

// The PMIx key of what a rank gives to its neighbours in a ring, which ends for
// nobody before all have begun it: two suffice. As the same file has it.
std::string RingKey(bool is_odd, Rank rank);

// Texts that fit into what clients have room for; nothing for any other value.
// Loop thread only. The arguments of the constructor outlive it.
class KeyValues {
 public:
  KeyValues(const PmiOptions* options, const Jobs* jobs)
      : options_(options), jobs_(jobs) {}

  // Of the client's own job.
  std::optional<std::string> Find(const Connection& c,
                                  const std::string& key) const;
  // Of another one, as far as its data has come here.
  std::optional<std::string> FindOf(const std::string& job,
                                    const std::string& key) const;
  // What that rank gave in a ring that has ended; empty when it gave nothing.
  std::string RingValue(const Connection& c, bool is_odd, Rank rank) const;
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
