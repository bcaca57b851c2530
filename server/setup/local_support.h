// The preparations of PMIx_server_setup_local_support on a node for the
// processes of a job: changes of their environment.
#ifndef CANOPY_SERVER_SETUP_LOCAL_SUPPORT_H_
#define CANOPY_SERVER_SETUP_LOCAL_SUPPORT_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "pmix_types.h"
#include "server/spawn/environment.h"

namespace canopy::setup {

// The limit of the environment changes of one job; more are rejected.
inline constexpr size_t kMaxEdits = 65536;

// Not thread-safe.
class LocalSupport {
 public:
  // Adds PMIX_SET_ENVAR and similar infos, in order, after earlier ones.
  // Returns kErrTypeMismatch for an info that does not contain a variable,
  // kErrNotSupported for an unknown info that is required, and
  // kErrOutOfResource for more than kMaxEdits; in each case nothing is added.
  Status Add(const std::string& nspace, std::span<const pmix_info_t> infos);
  // Changes the environment of a process of the job. Called before the
  // process's own variables are applied.
  void Apply(const std::string& nspace, spawn::Environment* environment) const;
  void Remove(const std::string& nspace) { edits_.erase(nspace); }

 private:
  std::map<std::string, std::vector<spawn::EnvarEdit>> edits_;
};

}  // namespace canopy::setup

#endif  // CANOPY_SERVER_SETUP_LOCAL_SUPPORT_H_
