// What was put since the last commit.
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

// The values of one key that were put with different scopes stand side by side:
// PMIX_LOCAL says what the processes of this node see, PMIX_REMOTE what those
// of other nodes see. PMIX_GLOBAL replaces both, and is replaced on one side by
// a later put for that side. Thread-safe.
class StagedPuts {
 public:
  // Keys and their KVALs in our own form.
  using Kvals = std::map<std::string, std::string, std::less<>>;

  // Stages a key for a scope other than PMIX_INTERNAL. Returns a PMIX status:
  // the value may be of a kind that cannot travel.
  int Stage(pmix_scope_t scope, std::string_view key,
            const pmix_value_t& value);

  // The payload of a commit frame with all that was staged; empty when nothing
  // was. Nothing is staged afterwards.
  std::string TakeFrame();
  // The same for all that TakeFrame ever returned: for a successor agent.
  std::string CommittedFrame() const;

 private:
  // What the agent reads later replaces what it has read before, so PMIX_GLOBAL
  // precedes the scopes of one side.
  using Scopes = std::map<pmix_scope_t, Kvals, std::greater<>>;

  static void Put(pmix_scope_t scope, std::string_view key, std::string encoded,
                  Scopes* scopes);
  static std::string Encode(const Scopes& scopes);
  // Stages the name that tells readers with which scope the key was put.
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
