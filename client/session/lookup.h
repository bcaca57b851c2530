// The rules by which PMIx_Get answers without a request to the agent: the realm
// in which a key is searched, which process's data is used, and whether the
// agent may still know a key that is absent here.
#ifndef CANOPY_CLIENT_SESSION_LOOKUP_H_
#define CANOPY_CLIENT_SESSION_LOOKUP_H_

#include <string_view>

#include "client/session/get_options.h"
#include "client/session/job_view.h"
#include "client/session/namespaces.h"
#include "client/session/value_store.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// The process whose data is requested. The caller owns the namespace.
struct Target {
  std::string_view nspace;
  Rank rank = kRankUndef;
};

inline bool IsProcessRank(Rank rank) { return rank <= kRankValid; }

// Adds a value of PMIX_QUALIFIED_VALUE to `all` unless `all` has an equal one.
void AddQualified(Value value, InfoList* all);

struct LookupResult {
  int status = PMIX_ERR_NOT_FOUND;  // a PMIx status
  // If the status is PMIX_ERR_NOT_FOUND: true if the agent may have the data,
  // now or later.
  bool ask_agent = false;
};

// Immutable; may be used from any thread.
class Lookup {
 public:
  // All arguments must outlive the object.
  Lookup(const ProcId& self, const Namespaces& namespaces,
         const ValueStore& store)
      : self_(self), namespaces_(namespaces), store_(store) {}

  // Looks for one key. Does not free the previous content of *value. If the
  // status is PMIX_SUCCESS, *value is the result, which the caller owns.
  LookupResult Find(const Target& target, std::string_view key,
                    const GetOptions& options, pmix_value_t* value) const;

  // Finds all data of a target, or of the realm that the options name.
  LookupResult FindAll(const Target& target, const GetOptions& options,
                       InfoList* all) const;

  // Returns true if the puts of a target that this process sees may include
  // puts with `scope`, and always for PMIX_SCOPE_UNDEF.
  bool IsSeenWith(const Target& target, pmix_scope_t scope) const;

 private:
  using Encoded = std::optional<std::string_view>;

  bool IsSelf(const Target& target) const {
    return target.rank == self_.rank && target.nspace == self_.nspace;
  }
  int FindInRealm(const JobView& job, const Target& target,
                  std::string_view key, const GetOptions& options, Realm realm,
                  pmix_value_t* value) const;
  Encoded FindEncoded(const JobView& job, const Target& target,
                      std::string_view key, const GetOptions& options,
                      Realm realm) const;
  int FindAboutProc(const JobView& job, const Target& target,
                    std::string_view key, pmix_value_t* value) const;
  LookupResult FindCommitted(const JobView& job, const Target& target,
                             std::string_view key, const GetOptions& options,
                             pmix_value_t* value) const;
  LookupResult FindQualified(const Target& target, std::string_view name,
                             const GetOptions& options,
                             pmix_value_t* value) const;
  bool FindQualifiedStored(const Target& target, std::string_view name,
                           const GetOptions& options, pmix_value_t* value,
                           int* status) const;
  LookupResult FindOwner(const JobView& job, const Target& target,
                         std::string_view key, const GetOptions& options,
                         pmix_value_t* value) const;
  bool FindStored(const Target& target, std::string_view key,
                  const GetOptions& options, pmix_value_t* value,
                  int* status) const;
  uint32_t NodeFor(const JobView& job, const Target& target,
                   const GetOptions& options) const;
  uint32_t AppFor(const JobView& job, const Target& target,
                  const GetOptions& options) const;
  bool SessionMatches(const JobView& job, const GetOptions& options) const;
  // Collects the data that another process has put with the options' scope.
  void CollectScope(const JobView& job, const Target& target,
                    const GetOptions& options, InfoList* all) const;
  void CollectRealm(const JobView& job, const Target& target,
                    const GetOptions& options, InfoList* all) const;

  const ProcId& self_;
  const Namespaces& namespaces_;
  const ValueStore& store_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_LOOKUP_H_
