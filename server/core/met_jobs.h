// Which jobs have met: processes of theirs took part in an operation together.
#ifndef CANOPY_SERVER_CORE_MET_JOBS_H_
#define CANOPY_SERVER_CORE_MET_JOBS_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"

namespace canopy::core {

// By naming each other's processes jobs of different users agree to exchange
// what these have put, and may know of each other from then on. Not
// synchronised.
class MetJobs {
 public:
  // An operation of these, sorted, has succeeded.
  void Note(const std::vector<ProcId>& participants);
  void OnJobRemoved(const std::string& nspace);
  bool Contains(std::string_view a, std::string_view b) const;

 private:
  using Namespaces = std::set<std::string, std::less<>>;

  std::set<Namespaces> lists_;  // each of two or more
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MET_JOBS_H_
