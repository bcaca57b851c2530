// The rules of PMIx_Get for what can be answered without a request to the
// agent: in which realm a key is searched, whose data counts, and whether an
// absent key may still come from the agent.
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

// Whose data is wanted. The namespace belongs to the caller.
struct Target {
  std::string_view nspace;
  Rank rank = kRankUndef;
};

inline bool IsProcessRank(Rank rank) { return rank <= kRankValid; }

// Adds a value of PMIX_QUALIFIED_VALUE to `all` unless `all` has an equal one.
void AddQualified(Value value, InfoList* all);

struct LookupResult {
  int status = PMIX_ERR_NOT_FOUND;  // a PMIX status
  // With PMIX_ERR_NOT_FOUND: the agent may know, or come to know, more.
  bool ask_agent = false;
};

// Immutable; any thread.
class Lookup {
 public:
  // All of them outlive the object.
  Lookup(const ProcId& self, const Namespaces& namespaces,
         const ValueStore& store)
      : self_(self), namespaces_(namespaces), store_(store) {}

  // Looks for one key. *value is overwritten; it is set, and then owned by the
  // caller, when the status is PMIX_SUCCESS.
  LookupResult Find(const Target& target, std::string_view key,
                    const GetOptions& options, pmix_value_t* value) const;

  // Everything about a target (of the realm, when the options name one).
  LookupResult FindAll(const Target& target, const GetOptions& options,
                       InfoList* all) const;

  // Whether what this process sees of a target's puts includes those with
  // `scope`. True for PMIX_SCOPE_UNDEF.
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
  // What another process has put with the scope of the options.
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
