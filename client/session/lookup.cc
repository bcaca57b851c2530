#include "client/session/lookup.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "client/session/idle_node.h"
#include "common/codec/decoder.h"
#include "common/codec/stored_key.h"
#include "common/posix/open_directory.h"
#include "common/posix/run_as_user.h"
#include "common/process_keys.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"

namespace canopy::client {
namespace {

// Returns true if the rank's data that this process sees can have been put with
// `scope`: data seen on another node was not put with PMIX_LOCAL, and data of
// this node not with PMIX_REMOTE.
bool PlaceAllows(const JobView& job, Rank rank, pmix_scope_t scope) {
  if (scope == PMIX_LOCAL) return job.NodeOf(rank) == job.self_node();
  if (scope == PMIX_REMOTE) return job.NodeOf(rank) != job.self_node();
  return scope != PMIX_INTERNAL;
}

// Returns true if the rank has put the key, which this process sees, with
// `scope`. Most gets name no scope, and their code is smaller without this.
[[gnu::noinline]] bool WasPutWith(const JobView& job, Rank rank,
                                  std::string_view key, pmix_scope_t scope) {
  if (scope == PMIX_SCOPE_UNDEF) return true;
  if (!PlaceAllows(job, rank, scope)) return false;
  Value alone;
  int status = PMIX_SUCCESS;
  const bool told = job.ReadProc(rank, ScopeNameOf(key), alone.mutable_raw(),
                                 &status) == Presence::kFound;
  return (told && alone.AsBool() == true) == (scope != PMIX_GLOBAL);
}

// Returns the key under which programs see the data stored under `key`.
std::string_view PublicKey(std::string_view key) {
  return IsStoredName(key) ? PMIX_QUALIFIED_VALUE : key;
}

// Returns the status of a value that was read. A process that deletes a key
// leaves an empty value in its place.
int OrDeleted(int status, const pmix_value_t& value) {
  const bool deleted = status == PMIX_SUCCESS && value.type == PMIX_UNDEF;
  return deleted ? PMIX_ERR_NOT_FOUND : status;
}

// Copies the caller's value out of a value of PMIX_QUALIFIED_VALUE.
int CopyMeant(const pmix_value_t& array, pmix_value_t* value) {
  const auto infos = InfosOf(array);
  if (!infos || infos->empty()) return PMIX_ERR_NOT_FOUND;
  return CopyValue(value, infos->front().value);
}

// Reads the value that a process has put with these qualifiers, or with these
// and more.
int ReadQualified(const JobView& job, Rank rank, std::string_view name,
                  pmix_scope_t scope, pmix_value_t* value) {
  Value array;
  int status = PMIX_SUCCESS;
  const Presence here = job.ReadProc(rank, name, array.mutable_raw(), &status);
  if (here == Presence::kOutsideScope) return PMIX_ERR_EXISTS_OUTSIDE_SCOPE;
  if (here == Presence::kFound) {
    if (status != PMIX_SUCCESS) return status;
    if (!WasPutWith(job, rank, name, scope)) return PMIX_ERR_NOT_FOUND;
    return CopyMeant(array.raw(), value);
  }
  const auto take = [&](std::string_view key, std::string_view encoded) {
    if (!array.empty() || !Satisfies(key, name) ||
        !WasPutWith(job, rank, key, scope)) {
      return;
    }
    Result<Value> found = DecodeValue(encoded);
    if (found.ok()) array = *std::move(found);
  };
  job.ForEachProc(rank, take, [&] { array = Value(); });
  return CopyMeant(array.raw(), value);
}

// Returns true for a process fact of an existing rank, which only the rank's
// agent knows.
bool OnlyItsAgentKnows(const JobView& job, const Target& target,
                       std::string_view key) {
  return IsProcessFact(key) && target.rank < job.num_ranks();
}

// Makes a rank's directory when its name is first returned, because most
// processes never use it. It lies in the job's directory and is removed with
// it. A failure shows when the process uses the directory. If a process of root
// requests the name for a job of another user, it makes the directory with that
// user's rights.
void MakeRankDirectory(const pmix_value_t& name) {
  if (name.type != PMIX_STRING || name.data.string == nullptr) return;
  const auto [job, rank] = SplitLast(name.data.string);
  const Result<OpenedDirectory> parent = OpenDirectory(job);
  if (!parent.ok()) return;
  // Clang captures structured bindings only under a new name.
  (void)RunAsUser(parent->user, [&parent, &own = rank] {
    (void)mkdirat(parent->fd.get(), own.c_str(), 0700);
  });
}

}  // namespace

void AddQualified(Value value, InfoList* all) {
  const bool known = std::ranges::any_of(*all, [&](const pmix_info_t& info) {
    return KeyOf(info) == PMIX_QUALIFIED_VALUE &&
           Value::FromC(info.value) == value;
  });
  if (!known) all->Add(PMIX_QUALIFIED_VALUE, std::move(value));
}

LookupResult Lookup::Find(const Target& target, std::string_view key,
                          const GetOptions& options,
                          pmix_value_t* value) const {
  value->type = PMIX_UNDEF;
  if (IsStoredName(key)) return FindQualified(target, key, options, value);
  int status = PMIX_SUCCESS;
  if (options.realm == Realm::kUnknown &&
      FindStored(target, key, options, value, &status)) {
    return {status, false};
  }
  const bool reserved = IsReserved(key);
  if (!reserved && options.scope == PMIX_INTERNAL) return {};
  const JobView* job = namespaces_.Find(target.nspace);
  if (job == nullptr) return {PMIX_ERR_NOT_FOUND, /*ask_agent=*/true};
  if (!reserved && options.realm == Realm::kUnknown) {
    return FindCommitted(*job, target, key, options, value);
  }
  const Realm realm =
      options.realm != Realm::kUnknown ? options.realm : DefaultRealm(key);
  status = FindInRealm(*job, target, key, options, realm, value);
  return {status,
          status == PMIX_ERR_NOT_FOUND && OnlyItsAgentKnows(*job, target, key)};
}

bool Lookup::FindStored(const Target& target, std::string_view key,
                        const GetOptions& options, pmix_value_t* value,
                        int* status) const {
  const auto copy = [&](const Value& stored) {
    *status = OrDeleted(CopyValue(value, stored.raw()), stored.raw());
  };
  return store_.Read(target.nspace, target.rank, key, options.scope, copy);
}

int Lookup::FindInRealm(const JobView& job, const Target& target,
                        std::string_view key, const GetOptions& options,
                        Realm realm, pmix_value_t* value) const {
  const bool of_process = realm == Realm::kProc || realm == Realm::kUnknown;
  if (of_process) {
    const int status = FindAboutProc(job, target, key, value);
    if (status != PMIX_ERR_NOT_FOUND || options.realm == Realm::kProc) {
      return status;
    }
  }
  const Encoded found = FindEncoded(job, target, key, options, realm);
  if (found) return DecodeValue(*found, value);
  if (realm == Realm::kNode &&
      FindIdleNode(job, key, options, value) == PMIX_SUCCESS) {
    return PMIX_SUCCESS;
  }
  // A node-level key may be stored with the processes of the node.
  if (realm == Realm::kNode && options.realm == Realm::kUnknown &&
      options.hostname.empty() && !options.nodeid) {
    return FindAboutProc(job, target, key, value);
  }
  return PMIX_ERR_NOT_FOUND;
}

int Lookup::FindAboutProc(const JobView& job, const Target& target,
                          std::string_view key, pmix_value_t* value) const {
  Rank rank = target.rank;
  // A process may request its own identity without giving its rank.
  if (!IsProcessRank(rank) && target.nspace == self_.nspace &&
      (key == PMIX_PROCID || key == PMIX_RANK || key == PMIX_NSPACE)) {
    rank = self_.rank;
  }
  if (!IsProcessRank(rank)) return PMIX_ERR_NOT_FOUND;
  if (key == PMIX_NSPACE) {
    *value = Value::String(target.nspace).Release();
    return PMIX_SUCCESS;
  }
  // A server finds its identity here too, because it has no other data about
  // itself.
  if (IsSelf({target.nspace, rank}) &&
      (key == PMIX_PROCID || key == PMIX_RANK)) {
    *value =
        (key == PMIX_RANK ? Value::Rank(rank) : Value::Proc(self_)).Release();
    return PMIX_SUCCESS;
  }
  int status = PMIX_SUCCESS;
  switch (job.ReadProc(rank, key, value, &status)) {
    case Presence::kFound:
      if (key == PMIX_PROCDIR && status == PMIX_SUCCESS) {
        MakeRankDirectory(*value);
      }
      return OrDeleted(status, *value);
    case Presence::kOutsideScope:
      return PMIX_ERR_EXISTS_OUTSIDE_SCOPE;
    case Presence::kAbsent:
    case Presence::kIncomplete:
      break;
  }
  return PMIX_ERR_NOT_FOUND;
}

Lookup::Encoded Lookup::FindEncoded(const JobView& job, const Target& target,
                                    std::string_view key,
                                    const GetOptions& options,
                                    Realm realm) const {
  const bool as_asked = options.realm != Realm::kUnknown;
  Encoded found;
  switch (realm) {
    case Realm::kSession:
      if (!SessionMatches(job, options)) return std::nullopt;
      found = job.FindSession(key);
      return found || as_asked ? found : job.FindJob(key);
    case Realm::kApp:
      return job.FindApp(AppFor(job, target, options), key);
    case Realm::kNode:
      return job.FindNode(NodeFor(job, target, options), key);
    case Realm::kLocalPart: {
      const uint32_t node = NodeFor(job, target, options);
      found = job.FindNode(node, key);
      return found || node != job.self_node() ? found : job.FindJob(key);
    }
    case Realm::kJob:
      found = job.FindJob(key);
      return found || as_asked ? found : job.FindSession(key);
    case Realm::kProc:
    case Realm::kUnknown:
      found = job.FindJob(key);
      return found ? found : job.FindSession(key);
  }
  return std::nullopt;
}

uint32_t Lookup::NodeFor(const JobView& job, const Target& target,
                         const GetOptions& options) const {
  if (!options.hostname.empty()) {
    return job.NodeByName(options.hostname).value_or(kNoNode);
  }
  if (options.nodeid) return job.NodeById(*options.nodeid).value_or(kNoNode);
  if (IsProcessRank(target.rank)) return job.NodeOf(target.rank);
  return job.self_node();
}

uint32_t Lookup::AppFor(const JobView& job, const Target& target,
                        const GetOptions& options) const {
  if (options.appnum) return *options.appnum;
  if (IsProcessRank(target.rank)) return job.AppOf(target.rank);
  return target.nspace == self_.nspace ? job.AppOf(self_.rank) : 0;
}

bool Lookup::SessionMatches(const JobView& job,
                            const GetOptions& options) const {
  if (!options.session_id) return true;
  const Encoded own = job.FindSession(PMIX_SESSION_ID);
  if (!own) return false;
  Result<Value> id = DecodeValue(*own);
  return id.ok() && id->AsUint32() == options.session_id;
}

LookupResult Lookup::FindCommitted(const JobView& job, const Target& target,
                                   std::string_view key,
                                   const GetOptions& options,
                                   pmix_value_t* value) const {
  if (target.rank == kRankWildcard) {
    // A wildcard rank has no committed data, but the host may have defined the
    // key for the whole job.
    const Encoded found = job.FindJob(key);
    return {found ? DecodeValue(*found, value) : PMIX_ERR_NOT_FOUND, false};
  }
  if (target.rank == kRankUndef) {
    return FindOwner(job, target, key, options, value);
  }
  if (target.rank >= job.num_ranks()) return {};
  if (options.scope != PMIX_SCOPE_UNDEF &&
      (IsSelf(target) || !PlaceAllows(job, target.rank, options.scope))) {
    return {};
  }
  const int status = FindAboutProc(job, target, key, value);
  if (options.scope != PMIX_SCOPE_UNDEF && status == PMIX_SUCCESS &&
      !WasPutWith(job, target.rank, key, options.scope)) {
    DestructValue(value);
    return {};
  }
  // The agent has no keys of this process that the process itself does not
  // know.
  return {status, status == PMIX_ERR_NOT_FOUND && !IsSelf(target)};
}

bool Lookup::FindQualifiedStored(const Target& target, std::string_view name,
                                 const GetOptions& options, pmix_value_t* value,
                                 int* status) const {
  bool found = false;
  const auto take = [&](const Value& array) {
    found = true;
    *status = CopyMeant(array.raw(), value);
  };
  if (store_.Read(target.nspace, target.rank, name, options.scope, take)) {
    return true;
  }
  store_.ForEach(target.nspace, target.rank, options.scope,
                 [&](std::string_view key, const Value& array) {
                   if (!found && Satisfies(key, name)) take(array);
                 });
  return found;
}

LookupResult Lookup::FindQualified(const Target& target, std::string_view name,
                                   const GetOptions& options,
                                   pmix_value_t* value) const {
  // Qualified values are data of processes.
  if (options.realm != Realm::kUnknown && options.realm != Realm::kProc) {
    return {};
  }
  int status = PMIX_ERR_NOT_FOUND;
  const bool any = target.rank == kRankUndef;
  const Target whose = any && target.nspace == self_.nspace
                           ? Target{self_.nspace, self_.rank}
                           : target;
  if (FindQualifiedStored(whose, name, options, value, &status)) {
    return {status, false};
  }
  if (options.scope == PMIX_INTERNAL) return {};
  const JobView* job = namespaces_.Find(target.nspace);
  if (job == nullptr) return {PMIX_ERR_NOT_FOUND, /*ask_agent=*/true};
  if (!any && !IsProcessRank(target.rank)) return {};
  const Rank first = any ? 0 : target.rank;
  const Rank last = any ? job->num_ranks() : target.rank + 1;
  for (Rank rank = first; rank < last && rank < job->num_ranks(); ++rank) {
    if (!PlaceAllows(*job, rank, options.scope)) continue;
    status = ReadQualified(*job, rank, name, options.scope, value);
    if (status != PMIX_ERR_NOT_FOUND) return {status, false};
  }
  // The agent has no values of this process that the process itself does not
  // have.
  return {PMIX_ERR_NOT_FOUND,
          any || (PlaceAllows(*job, first, options.scope) && !IsSelf(target))};
}

LookupResult Lookup::FindOwner(const JobView& job, const Target& target,
                               std::string_view key, const GetOptions& options,
                               pmix_value_t* value) const {
  int status = PMIX_ERR_NOT_FOUND;
  const Target self{self_.nspace, self_.rank};
  const bool stored = target.nspace == self_.nspace &&
                      FindStored(self, key, options, value, &status);
  if (stored && status != PMIX_ERR_NOT_FOUND) return {status, false};
  for (Rank rank = 0; rank < job.num_ranks(); ++rank) {
    // This process has deleted the key, which shared memory may still have.
    if (stored && rank == self_.rank) continue;
    if (!PlaceAllows(job, rank, options.scope)) continue;
    status = FindAboutProc(job, {target.nspace, rank}, key, value);
    if (status == PMIX_SUCCESS && !WasPutWith(job, rank, key, options.scope)) {
      DestructValue(value);
    } else if (status != PMIX_ERR_NOT_FOUND) {
      return {status, false};
    }
  }
  return {PMIX_ERR_NOT_FOUND, /*ask_agent=*/true};
}

LookupResult Lookup::FindAll(const Target& target, const GetOptions& options,
                             InfoList* all) const {
  const JobView* job = namespaces_.Find(target.nspace);
  if (job != nullptr && options.scope == PMIX_SCOPE_UNDEF) {
    CollectRealm(*job, target, options, all);
  } else if (job != nullptr) {
    CollectScope(*job, target, options, all);
  }
  if (options.realm == Realm::kUnknown || options.realm == Realm::kProc) {
    store_.ForEach(target.nspace, target.rank, options.scope,
                   [&](std::string_view key, const Value& value) {
                     if (IsStoredName(key)) return AddQualified(value, all);
                     all->Remove(key);
                     if (!value.empty()) all->Add(key, value);
                   });
  }
  if (!all->empty()) return {PMIX_SUCCESS, false};
  return {PMIX_ERR_NOT_FOUND, job == nullptr};
}

bool Lookup::IsSeenWith(const Target& target, pmix_scope_t scope) const {
  if (scope == PMIX_SCOPE_UNDEF) return true;
  const JobView* job = namespaces_.Find(target.nspace);
  return job != nullptr && PlaceAllows(*job, target.rank, scope);
}

void Lookup::CollectScope(const JobView& job, const Target& target,
                          const GetOptions& options, InfoList* all) const {
  const bool of_proc =
      options.realm == Realm::kUnknown || options.realm == Realm::kProc;
  if (!of_proc || target.rank >= job.num_ranks() || IsSelf(target) ||
      !PlaceAllows(job, target.rank, options.scope)) {
    return;
  }
  const JobView::Visit add = [&](std::string_view key, std::string_view v) {
    if (IsReserved(key)) return;
    if (!WasPutWith(job, target.rank, key, options.scope)) return;
    Result<Value> value = DecodeValue(v);
    if (!value.ok() || value->empty()) return;
    all->Add(PublicKey(key), std::move(value).value());
  };
  job.ForEachProc(target.rank, add, [all] { all->Clear(); });
}

void Lookup::CollectRealm(const JobView& job, const Target& target,
                          const GetOptions& options, InfoList* all) const {
  const JobView::Visit add = [all](std::string_view key, std::string_view v) {
    Result<Value> value = DecodeValue(v);
    if (!value.ok() || value->empty()) return;
    if (key == PMIX_PROCDIR) MakeRankDirectory(value->raw());
    all->Add(PublicKey(key), std::move(value).value());
  };
  switch (options.realm) {
    case Realm::kSession:
      if (SessionMatches(job, options)) job.ForEachSession(add);
      return;
    case Realm::kApp:
      job.ForEachApp(AppFor(job, target, options), add);
      return;
    case Realm::kNode:
      job.ForEachNode(NodeFor(job, target, options), add);
      return;
    case Realm::kJob:
      job.ForEachJob(add);
      return;
    default:
      break;
  }
  if (IsProcessRank(target.rank)) {
    job.ForEachProc(target.rank, add, [all] { all->Clear(); });
  } else {
    job.ForEachJob(add);
  }
}

}  // namespace canopy::client
