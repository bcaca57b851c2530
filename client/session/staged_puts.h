// What was put since the last commit.
#ifndef CANOPY_CLIENT_SESSION_STAGED_PUTS_H_
#define CANOPY_CLIENT_SESSION_STAGED_PUTS_H_

#include <map>
#include <string>
#include <string_view>

#include "common/mutex.h"
#include "pmix.h"

namespace canopy::client {

// Thread-safe.
class StagedPuts {
 public:
  // Keys and their KVALs in our own form.
  using Kvals = std::map<std::string, std::string, std::less<>>;

  // Stages a key for a scope, replacing an earlier put of it. Returns a PMIX
  // status: the value may be of a kind that cannot travel.
  int Stage(pmix_scope_t scope, std::string_view key,
            const pmix_value_t& value);

  // The payload of a commit frame with all that was staged; empty when nothing
  // was. Nothing is staged afterwards.
  std::string TakeFrame();
  // The same for all that TakeFrame ever returned: for a successor agent.
  std::string CommittedFrame() const;

 private:
  using Scopes = std::map<pmix_scope_t, Kvals>;

  static void Put(pmix_scope_t scope, std::string_view key, std::string encoded,
                  Scopes* scopes);
  static std::string Encode(const Scopes& scopes);

  mutable Mutex mu_;
  Scopes scopes_ CANOPY_GUARDED_BY(mu_);
  Scopes committed_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_STAGED_PUTS_H_
