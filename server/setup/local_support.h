// What PMIx_server_setup_local_support prepares on a node for the processes of
// a job: the environment that they are to have.
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

// Changes of the environment of one job, at most; what is more is refused.
inline constexpr size_t kMaxEdits = 65536;

// Not synchronised.
class LocalSupport {
 public:
  // PMIX_SET_ENVAR and its like, in order, after what was added before.
  // kErrTypeMismatch for one without a variable, kErrNotSupported for what is
  // required and not known; then nothing is added. kErrOutOfResource.
  Status Add(const std::string& nspace, std::span<const pmix_info_t> infos);
  // Into the environment of a process of the job, before its own variables.
  void Apply(const std::string& nspace, spawn::Environment* environment) const;
  void Remove(const std::string& nspace) { edits_.erase(nspace); }

 private:
  std::map<std::string, std::vector<spawn::EnvarEdit>> edits_;
};

}  // namespace canopy::setup

#endif  // CANOPY_SERVER_SETUP_LOCAL_SUPPORT_H_
