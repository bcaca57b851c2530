// Records which jobs have taken part in an operation together.
#ifndef CANOPY_SERVER_CORE_MET_JOBS_H_
#define CANOPY_SERVER_CORE_MET_JOBS_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"

namespace canopy::core {

// Jobs of different users agree to exchange data if they name each other's
// processes; from then on they may see each other. Not synchronised.
class MetJobs {
 public:
  // Records a successful operation of these processes, which are sorted.
  void Note(const std::vector<ProcId>& participants);
  void OnJobRemoved(const std::string& nspace);
  // Returns true if both jobs have taken part in one operation.
  bool Contains(std::string_view a, std::string_view b) const;

 private:
  using Namespaces = std::set<std::string, std::less<>>;

  std::set<Namespaces> lists_;  // each has at least two elements
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MET_JOBS_H_
