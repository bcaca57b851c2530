// The values that were put since the last commit.
#ifndef CANOPY_CLIENT_SESSION_STAGED_PUTS_H_
#define CANOPY_CLIENT_SESSION_STAGED_PUTS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/mutex.h"
#include "pmix.h"

namespace canopy::client {

// One key may have a value for each scope: PMIX_LOCAL for the processes of this
// node, PMIX_REMOTE for the processes of other nodes. PMIX_GLOBAL replaces
// both; a later put for one side replaces it on that side. Thread-safe.
class StagedPuts {
 public:
  // The staged values by key, each encoded as a KVAL of common/codec.
  using Kvals = std::map<std::string, std::string, std::less<>>;

  // Stages a key for a scope other than PMIX_INTERNAL. Returns a PMIx status,
  // because the value may have a type that cannot be encoded.
  int Stage(pmix_scope_t scope, std::string_view key,
            const pmix_value_t& value);

  // Returns the payload of a commit frame with all staged puts and clears them.
  // The payload is empty if there were none.
  std::string TakeFrame();
  // Returns the payload with all puts committed so far, for a successor agent.
  std::string CommittedFrame() const;

 private:
  // Later entries replace earlier ones when the agent reads them, so
  // PMIX_GLOBAL precedes the scopes of one side.
  using Scopes = std::map<pmix_scope_t, Kvals, std::greater<>>;

  static void Put(pmix_scope_t scope, std::string_view key, std::string encoded,
                  Scopes* scopes);
  static std::string Encode(const Scopes& scopes);
  // Stages the name by which readers learn the scope of the key's put.
  void NoteScope(pmix_scope_t scope, std::string_view key) CANOPY_REQUIRES(mu_);
  void StageScopeName(pmix_scope_t side, std::string_view key, bool alone)
      CANOPY_REQUIRES(mu_);

  mutable Mutex mu_;
  Scopes scopes_ CANOPY_GUARDED_BY(mu_);
  Scopes committed_ CANOPY_GUARDED_BY(mu_);
  // Keys whose last put for a side was for that side alone.
  std::map<pmix_scope_t, std::set<std::string, std::less<>>> alone_
      CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_STAGED_PUTS_H_
