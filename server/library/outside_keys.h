// The keys that processes of this node have put with PMIX_LOCAL. A server of
// another node that does not find such a key answers
// PMIX_ERR_EXISTS_OUTSIDE_SCOPE.
#ifndef CANOPY_SERVER_LIBRARY_OUTSIDE_KEYS_H_
#define CANOPY_SERVER_LIBRARY_OUTSIDE_KEYS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/client_inputs.h"

namespace canopy::library {

// Loop thread only.
class OutsideKeys {
 public:
  // Records a commit of a process, which may be malformed. A key is removed
  // when the process later puts it with another scope.
  void Add(const ProcId& proc, const std::vector<core::ScopedData>& data);
  // Returns the keys of a process in ascending order.
  std::vector<std::string> Of(const ProcId& proc) const;
  void DropJob(const std::string& nspace);

 private:
  std::map<ProcId, std::set<std::string>> keys_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_OUTSIDE_KEYS_H_
