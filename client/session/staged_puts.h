// What was put since the last commit.
#ifndef CANOPY_CLIENT_SESSION_STAGED_PUTS_H_
#define CANOPY_CLIENT_SESSION_STAGED_PUTS_H_

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "pmix.h"

namespace canopy::client {

// Thread-safe.
class StagedPuts {
 public:
  // Stages a key for a scope, replacing an earlier put of it. Returns a PMIX
  // status: the value may be of a kind that cannot travel.
  int Stage(pmix_scope_t scope, std::string_view key,
            const pmix_value_t& value);

  // The payload of a commit frame with all that was staged; empty when there
  // is nothing. Nothing is staged afterwards.
  std::string TakeFrame();

 private:
  using Kvals = std::map<std::string, std::string, std::less<>>;

  std::mutex mu_;
  std::map<pmix_scope_t, Kvals> scopes_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_STAGED_PUTS_H_
