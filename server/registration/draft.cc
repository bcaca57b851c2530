#include "server/registration/draft.h"

#include <string_view>
#include <utility>

#include "common/codec/decoder.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_deprecated.h"
#include "server/registration/map_texts.h"
#include "server/registration/registration.h"

namespace canopy::registration {
namespace {

using Infos = std::span<const pmix_info_t>;
using Names = std::vector<std::string>;

// The object that an entry describes.
struct Scope {
  Level* level;
  std::optional<uint32_t> app = {};
  std::optional<size_t> node = {};
  int depth = 0;
};

class Collector {
 public:
  Collector(const std::string& nspace, Draft* draft, Problem* problem)
      : nspace_(nspace), draft_(*draft), problem_(*problem) {}

  bool Add(Infos infos, const Scope& scope);

 private:
  using Opener = bool (Collector::*)(const pmix_info_t& array, Infos infos,
                                     const Scope& scope);
  static Opener OpenerOf(std::string_view key);

  bool Open(Opener opener, const pmix_info_t& array, const Scope& scope);
  bool AddSession(const pmix_info_t& array, Infos infos, const Scope& scope);
  bool AddJob(const pmix_info_t& array, Infos infos, const Scope& scope);
  bool AddApp(const pmix_info_t& array, Infos infos, const Scope& scope);
  bool AddNode(const pmix_info_t& array, Infos infos, const Scope& scope);
  bool AddProc(const pmix_info_t& array, Infos infos, const Scope& scope);
  bool AddProcOf(Rank rank, Infos infos, const Scope& scope);
  bool AddMapBlob(const pmix_info_t& info);
  bool AddProcBlob(const pmix_info_t& info, const Scope& scope);
  std::optional<std::string_view> Blob(const pmix_info_t& info);
  std::optional<Rank> RankOf(const pmix_info_t& array, Infos infos);
  std::optional<uint32_t> AppOf(Infos infos);
  bool Malformed(const pmix_info_t& info) {
    return problem_.Say(kErrBadParam, NameOf(KeyOf(info)) + " is malformed");
  }
  bool Missing(const pmix_info_t& array, const std::string& what) {
    return problem_.Say(kErrBadParam,
                        what + " is missing in " + NameOf(KeyOf(array)));
  }

  const std::string& nspace_;
  Draft& draft_;
  Problem& problem_;
};

// Returns the last entry of that key that has a value.
const pmix_info_t* FindIn(Infos infos, std::string_view key) {
  const pmix_info_t* found = nullptr;
  for (const pmix_info_t& info : infos) {
    if (KeyOf(info) == key && !IsAbsent(info)) found = &info;
  }
  return found;
}

Collector::Opener Collector::OpenerOf(std::string_view key) {
  if (key == PMIX_PROC_INFO_ARRAY) return &Collector::AddProc;
  if (key == PMIX_NODE_INFO_ARRAY) return &Collector::AddNode;
  if (key == PMIX_APP_INFO_ARRAY) return &Collector::AddApp;
  if (key == PMIX_JOB_INFO_ARRAY) return &Collector::AddJob;
  if (key == PMIX_SESSION_INFO_ARRAY) return &Collector::AddSession;
  return nullptr;
}

bool Collector::Add(Infos infos, const Scope& scope) {
  for (const pmix_info_t& info : infos) {
    if (IsAbsent(info)) continue;
    const std::string_view key = KeyOf(info);
    const Opener opener = OpenerOf(key);
    if (opener != nullptr) {
      if (!Open(opener, info, scope)) return false;
    } else if (key == PMIX_MAP_BLOB) {
      if (!AddMapBlob(info)) return false;
    } else if (key == PMIX_PROC_BLOB) {
      if (!AddProcBlob(info, scope)) return false;
    } else {
      scope.level->Add(info);
    }
  }
  return true;
}

bool Collector::Open(Opener opener, const pmix_info_t& array,
                     const Scope& scope) {
  const std::string name = NameOf(KeyOf(array));
  const auto infos = InfosOf(array.value);
  if (!infos) {
    return problem_.Say(kErrTypeMismatch, name + " is not an array of infos");
  }
  if (scope.depth == kMaxDepth) {
    return problem_.Say(kErrOutOfResource,
                        name + " is in more arrays than is supported");
  }
  Scope inside = scope;
  ++inside.depth;
  return (this->*opener)(array, *infos, inside);
}

bool Collector::AddSession(const pmix_info_t& array, Infos infos,
                           const Scope& scope) {
  if (FindIn(infos, PMIX_SESSION_ID) == nullptr) {
    return Missing(array, "PMIX_SESSION_ID");
  }
  return Add(infos, {.level = &draft_.session, .depth = scope.depth});
}

// Adds the entries of a job array. Arrays of other jobs in a session are
// skipped, because these jobs are registered separately.
bool Collector::AddJob(const pmix_info_t& array, Infos infos,
                       const Scope& scope) {
  const auto nspace = ReadText(FindIn(infos, PMIX_NSPACE), &problem_);
  if (!problem_.ok()) return false;
  if (nspace && *nspace != nspace_) {
    draft_.session.Add(array);
    return true;
  }
  return Add(infos, {.level = &draft_.job, .depth = scope.depth});
}

// Returns the number of the application. Returns no value if there is none,
// because the only application of a job need not be numbered.
std::optional<uint32_t> Collector::AppOf(Infos infos) {
  return ReadNumber(FindIn(infos, PMIX_APPNUM), kMaxApps - 1, &problem_);
}

bool Collector::AddApp(const pmix_info_t& array, Infos infos,
                       const Scope& scope) {
  auto app = AppOf(infos);
  if (!problem_.ok()) return false;
  if (!app && !draft_.apps.empty()) return Missing(array, "PMIX_APPNUM");
  if (!app) app = 0;
  return Add(infos,
             {.level = &draft_.apps[*app], .app = app, .depth = scope.depth});
}

// Adds the entries of a node array. A node's array within an application's
// array describes only the application's processes, and is kept unchanged.
bool Collector::AddNode(const pmix_info_t& array, Infos infos,
                        const Scope& scope) {
  if (scope.app) {
    scope.level->Add(array);
    return true;
  }
  DraftNode node;
  node.name = ReadText(FindIn(infos, PMIX_HOSTNAME), &problem_).value_or("");
  node.id = ReadNumber(FindIn(infos, PMIX_NODEID), UINT32_MAX - 1, &problem_);
  if (const auto* aliases = FindIn(infos, PMIX_HOSTNAME_ALIASES)) {
    node.aliases = ReadNames(*aliases, &problem_).value_or(Names());
  }
  if (const auto* peers = FindIn(infos, PMIX_LOCAL_PEERS)) {
    node.peers = ReadRankList(*peers, &problem_);
  }
  if (!problem_.ok()) return false;
  if (node.name.empty() && !node.id) {
    return Missing(array, "PMIX_HOSTNAME or PMIX_NODEID");
  }
  // Arrays inside this one refer to their node by its index, because the vector
  // may be reallocated.
  const size_t index = draft_.nodes.size();
  draft_.nodes.push_back(std::move(node));
  Level level;
  const bool added =
      Add(infos, {.level = &level, .node = index, .depth = scope.depth});
  draft_.nodes[index].level = std::move(level);
  return added;
}

std::optional<Rank> Collector::RankOf(const pmix_info_t& array, Infos infos) {
  const pmix_info_t* proc = FindIn(infos, PMIX_PROCID);
  if (const pmix_info_t* rank = FindIn(infos, PMIX_RANK)) {
    return ReadNumber(rank, UINT32_MAX, &problem_);
  }
  if (proc == nullptr) {
    Missing(array, "PMIX_RANK");
    return std::nullopt;
  }
  const auto id = ProcOf(proc->value);
  if (!id || id->nspace != nspace_) {
    problem_.Say(id ? kErrBadParam : kErrTypeMismatch,
                 "PMIX_PROCID is of no process of " + nspace_);
    return std::nullopt;
  }
  return id->rank;
}

bool Collector::AddProc(const pmix_info_t& array, Infos infos,
                        const Scope& scope) {
  const std::optional<Rank> rank = RankOf(array, infos);
  return rank && AddProcOf(*rank, infos, scope);
}

bool Collector::AddProcOf(Rank rank, Infos infos, const Scope& scope) {
  if (rank == kRankWildcard) {
    return Add(infos, {.level = &draft_.job, .depth = scope.depth});
  }
  if (rank >= kMaxProcs) {
    return problem_.Say(kErrOutOfResource,
                        "PMIX_RANK is " + std::to_string(rank) + ", at most " +
                            std::to_string(kMaxProcs - 1) + " is supported");
  }
  DraftProc& proc = draft_.procs[rank];
  if (scope.app) proc.app = scope.app;
  if (scope.node) proc.node = scope.node;
  return Add(infos, {.level = &proc.level,
                     .app = scope.app,
                     .node = scope.node,
                     .depth = scope.depth});
}

std::optional<std::string_view> Collector::Blob(const pmix_info_t& info) {
  const auto bytes = BytesOf(info.value);
  if (!bytes) {
    problem_.Say(kErrTypeMismatch, NameOf(KeyOf(info)) + " is not of bytes");
  }
  return bytes;
}

// Reads a blob that contains a KVAL for each node: its name and its ranks.
bool Collector::AddMapBlob(const pmix_info_t& info) {
  const auto bytes = Blob(info);
  if (!bytes) return false;
  Decoder in(*bytes);
  size_t count = 0;
  if (!in.UnpackSize(&count)) return Malformed(info);
  for (size_t i = 0; i < count; ++i) {
    KvalView entry;
    Value value;
    if (!in.UnpackKval(&entry) || i == kMaxNodes || entry.key.empty() ||
        DecodeValue(entry.value, value.mutable_raw()) != kSuccess) {
      return Malformed(info);
    }
    InfoList& ranks = draft_.unpacked.emplace_back();
    ranks.Add(PMIX_LOCAL_PEERS, std::move(value));
    DraftNode node;
    node.name = entry.key;
    if (!IsAbsent(ranks[0])) node.peers = ReadRankList(ranks[0], &problem_);
    if (!problem_.ok()) return false;
    draft_.nodes.push_back(std::move(node));
  }
  return in.done() || Malformed(info);
}

// Reads a blob that contains a rank and then KVALs up to its end.
bool Collector::AddProcBlob(const pmix_info_t& info, const Scope& scope) {
  const auto bytes = Blob(info);
  if (!bytes) return false;
  if (scope.depth == kMaxDepth) return Malformed(info);
  Decoder in(*bytes);
  Rank rank = kRankInvalid;
  if (!in.UnpackRank(&rank)) return Malformed(info);
  InfoList& infos = draft_.unpacked.emplace_back();
  while (!in.AtEnd()) {
    KvalView entry;
    Value value;
    if (!in.UnpackKval(&entry) ||
        DecodeValue(entry.value, value.mutable_raw()) != kSuccess) {
      return Malformed(info);
    }
    infos.Add(entry.key, std::move(value));
  }
  Scope inside = scope;
  ++inside.depth;
  return AddProcOf(rank, infos.span(), inside);
}

}  // namespace

bool MakeDraft(const std::string& nspace, Infos infos, Draft* draft,
               Problem* problem) {
  return Collector(nspace, draft, problem).Add(infos, {.level = &draft->job});
}

}  // namespace canopy::registration
