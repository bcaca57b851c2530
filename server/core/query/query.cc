#include "server/core/query/query.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/required.h"
#include "common/status.h"
#include "common/time_units.h"
#include "common/values/info_list.h"
#include "common/values/rank.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/query/query_keys.h"

namespace canopy::core {
namespace {

// Maximum memory of decoded qualifiers, in bytes.
constexpr size_t kMaxMemory = size_t{8} << 20;
// PMIX_PROC_INFO of the Standard; in the headers this name is a data type.
constexpr char kProcInfo[] = "pmix.proc.info";

struct Reading {
  const pmix_info_t& info;
  Query* query;
  bool* names_procid;
};

bool ReadProcid(Reading r) {
  const auto proc = ProcOf(r.info.value);
  if (!proc || proc->nspace.empty() || *r.names_procid) return false;
  *r.names_procid = true;
  r.query->proc = *proc;
  return true;
}

bool ReadText(const pmix_info_t& info, std::string* text) {
  const auto value = StringOf(info.value);
  if (!value || value->empty() || value->size() > kMaxQualifierText) {
    return false;
  }
  *text = *value;
  return true;
}

bool ReadNspace(Reading r) {
  return ReadText(r.info, &r.query->proc.nspace) &&
         r.query->proc.nspace.size() <= kMaxNspaceLen;
}

bool ReadNumber(const pmix_info_t& info, std::optional<uint32_t>* number) {
  const auto value = Uint64Of(info.value);
  if (!value || *value > UINT32_MAX) return false;
  *number = static_cast<uint32_t>(*value);
  return true;
}

bool ReadRank(Reading r) {
  const std::optional<Rank> rank = RankOf(r.info.value);
  if (!rank) return false;
  r.query->proc.rank = *rank;
  return *rank <= kRankValid || *rank == kRankWildcard;
}

bool ReadAppnum(Reading r) { return ReadNumber(r.info, &r.query->appnum); }
bool ReadNodeid(Reading r) { return ReadNumber(r.info, &r.query->nodeid); }
bool ReadSession(Reading r) { return ReadNumber(r.info, &r.query->session_id); }
bool ReadHostname(Reading r) { return ReadText(r.info, &r.query->hostname); }
bool ReadQueue(Reading r) { return ReadText(r.info, &r.query->queue); }
bool ReadPset(Reading r) { return ReadText(r.info, &r.query->pset); }

bool ReadFlag(const pmix_info_t& info, bool* flag) {
  const auto value = BoolOf(info.value);
  if (value) *flag = *value;
  return value.has_value();
}

template <bool Query::*kFlag>
bool ReadQueryFlag(Reading r) {
  return ReadFlag(r.info, &(r.query->*kFlag));
}

template <DataRealm kRealm>
bool ReadRealm(Reading r) {
  bool wanted = false;
  if (!ReadFlag(r.info, &wanted)) return false;
  if (!wanted) return true;
  const bool first = r.query->realm == DataRealm::kAny;
  r.query->realm = kRealm;
  return first;
}

bool ReadLevel(Reading r) {
  bool wanted = false;
  if (!ReadFlag(r.info, &wanted)) return false;
  if (wanted) r.query->levels.emplace_back(KeyOf(r.info));
  return true;
}

bool ReadTimeout(Reading r) {
  std::optional<uint32_t> seconds;
  if (!ReadNumber(r.info, &seconds)) return false;
  r.query->timeout_ms =
      std::min(*seconds, UINT32_MAX / kMsPerSecond) * kMsPerSecond;
  return true;
}

// Ignores PMIX_QUERY_REFRESH_CACHE, which the client's library has handled, and
// the caller's user and group, which are known from its connection.
bool Ignore(Reading) { return true; }

struct QualifierReader {
  std::string_view key;
  bool (*read)(Reading);
};
constexpr QualifierReader kQualifierReaders[] = {
    {PMIX_PROCID, ReadProcid},
    {PMIX_NSPACE, ReadNspace},
    {PMIX_RANK, ReadRank},
    {PMIX_APPNUM, ReadAppnum},
    {PMIX_NODEID, ReadNodeid},
    {PMIX_HOSTNAME, ReadHostname},
    {PMIX_SESSION_ID, ReadSession},
    {PMIX_ALLOC_QUEUE, ReadQueue},
    {PMIX_PSET_NAME, ReadPset},
    {PMIX_SESSION_INFO, ReadRealm<DataRealm::kSession>},
    {PMIX_JOB_INFO, ReadRealm<DataRealm::kJob>},
    {PMIX_APP_INFO, ReadRealm<DataRealm::kApp>},
    {PMIX_NODE_INFO, ReadRealm<DataRealm::kNode>},
    {kProcInfo, ReadRealm<DataRealm::kProc>},
    {PMIX_QUERY_LOCAL_ONLY, ReadQueryFlag<&Query::local_only>},
    {PMIX_QUERY_REPORT_AVG, ReadQueryFlag<&Query::average>},
    {PMIX_QUERY_REPORT_MINMAX, ReadQueryFlag<&Query::minmax>},
    {PMIX_QUERY_SUPPORTED_QUALIFIERS, ReadQueryFlag<&Query::of_qualifiers>},
    {PMIX_QUERY_REFRESH_CACHE, Ignore},
    {PMIX_USERID, Ignore},
    {PMIX_GRPID, Ignore},
    {PMIX_TIMEOUT, ReadTimeout},
    {PMIX_CLIENT_FUNCTIONS, ReadLevel},
    {PMIX_CLIENT_ATTRIBUTES, ReadLevel},
    {PMIX_SERVER_FUNCTIONS, ReadLevel},
    {PMIX_SERVER_ATTRIBUTES, ReadLevel},
    {PMIX_HOST_FUNCTIONS, ReadLevel},
    {PMIX_HOST_ATTRIBUTES, ReadLevel},
    {PMIX_TOOL_FUNCTIONS, ReadLevel},
    {PMIX_TOOL_ATTRIBUTES, ReadLevel},
};

// Qualifiers that count as effective in every query, whatever its keys are.
constexpr std::string_view kOfAll[] = {PMIX_QUERY_LOCAL_ONLY,
                                       PMIX_QUERY_SUPPORTED_QUALIFIERS,
                                       PMIX_QUERY_REFRESH_CACHE,
                                       PMIX_USERID,
                                       PMIX_GRPID,
                                       PMIX_TIMEOUT};

// Returns false if the qualifier is without effect: it is unknown, or it does
// not apply to any key of the query. Returns true for every known flag
// with the value false, because it requests nothing, and for every known
// qualifier in a query of the supported qualifiers.
bool HasEffect(const Query& query, const pmix_info_t& info) {
  const std::string_view name = KeyOf(info);
  if (std::ranges::find(kQualifierReaders, name, &QualifierReader::key) ==
      std::end(kQualifierReaders)) {
    return false;
  }
  if (std::ranges::count(kOfAll, name) > 0 || query.of_qualifiers ||
      !BoolOf(info.value).value_or(true)) {
    return true;
  }
  if (KindOf(query.keys[0]) == KeyKind::kAttributeSupport) {
    return Supports(query.keys[0], name);
  }
  return std::ranges::any_of(query.keys, [name](const std::string& key) {
    return Supports(key, name);
  });
}

// Returns kErrNotSupported for a required qualifier without an effect. If all
// keys of a query are for the host, the host decides about its qualifiers; if
// some are, the host gets all qualifiers.
int CheckEffects(const InfoList& qualifiers, Query* query) {
  if (std::ranges::all_of(query->keys, IsForHost)) return kSuccess;
  const bool of_host = std::ranges::any_of(query->keys, IsForHost);
  for (const pmix_info_t& info : qualifiers) {
    if (HasEffect(*query, info)) continue;
    if (MustHonour(info.flags)) return kErrNotSupported;
    if (!of_host) query->ignored.emplace_back(KeyOf(info));
  }
  return kSuccess;
}

int ReadQualifier(Reading r) {
  const auto row = std::ranges::find(kQualifierReaders, KeyOf(r.info),
                                     &QualifierReader::key);
  return row == std::end(kQualifierReaders) || row->read(r) ? kSuccess
                                                            : kErrBadParam;
}

// Encodes the qualifiers for the host, without those that agents handle.
std::string ForHost(const InfoList& qualifiers) {
  Encoder infos;
  size_t count = 0;
  for (const pmix_info_t& info : qualifiers) {
    const auto row = std::ranges::find(kQualifierReaders, KeyOf(info),
                                       &QualifierReader::key);
    if (row != std::end(kQualifierReaders) && row->read == Ignore) continue;
    infos.PutInfo(info);
    ++count;
  }
  Encoder out;
  out.PutSize(count);
  out.PutRaw(infos.Take());
  return out.Take();
}

int ReadQualifiers(const InfoList& qualifiers, Query* query) {
  bool names_procid = false;
  for (const pmix_info_t& info : qualifiers) {
    const bool part = KeyOf(info) == PMIX_NSPACE || KeyOf(info) == PMIX_RANK;
    if (part && names_procid) return kErrBadParam;
    if (KeyOf(info) == PMIX_PROCID &&
        (!query->proc.nspace.empty() || query->names_rank())) {
      return kErrBadParam;
    }
    const int status = ReadQualifier({info, query, &names_procid});
    if (status != kSuccess) return status;
  }
  return CheckEffects(qualifiers, query);
}

int ReadQuery(Decoder& in, size_t* keys_left, Query* query) {
  int32_t num_keys = 0;
  size_t num_qualifiers = 0;
  if (!in.GetInt32(&num_keys)) return in.code();
  if (num_keys <= 0) return kErrBadParam;
  if (static_cast<size_t>(num_keys) > *keys_left) return kErrOutOfResource;
  *keys_left -= static_cast<size_t>(num_keys);
  for (int32_t i = 0; i < num_keys; ++i) {
    std::string_view key;
    if (!in.GetString(&key)) return in.code();
    if (key.empty() || key.size() > kMaxKeyLen) return kErrBadParam;
    query->keys.emplace_back(key);
  }
  if (!in.GetSize(&num_qualifiers)) return in.code();
  if (num_qualifiers > kMaxQualifiers) return kErrOutOfResource;
  InfoList qualifiers;
  for (size_t i = 0; i < num_qualifiers; ++i) {
    pmix_info_t info;
    if (!in.GetInfo(&info)) return in.code();
    qualifiers.Adopt(&info);
  }
  if (std::ranges::any_of(query->keys, IsForHost)) {
    query->for_host = ForHost(qualifiers);
  }
  return ReadQualifiers(qualifiers, query);
}

}  // namespace

int ParseQueries(std::string_view encoded, std::vector<Query>* queries) {
  if (encoded.size() > kMaxQueryBytes) return kErrOutOfResource;
  Decoder in(encoded);
  in.set_memory_limit(kMaxMemory);
  size_t count = 0;
  size_t keys_left = kMaxQueryKeys;
  if (!in.GetSize(&count)) return in.code();
  if (count == 0) return kErrBadParam;
  if (count > kMaxQueryKeys) return kErrOutOfResource;
  std::set<std::string> hostnames;
  for (size_t i = 0; i < count; ++i) {
    Query& query = queries->emplace_back();
    const int status = ReadQuery(in, &keys_left, &query);
    if (status != kSuccess) return status;
    hostnames.insert(query.hostname);
    if (hostnames.size() > kMaxHostnames) return kErrOutOfResource;
  }
  const auto of_host = std::ranges::count_if(
      *queries, [](const Query& query) { return !HostKeys(query).empty(); });
  if (static_cast<size_t>(of_host) > kMaxHostQueries) return kErrOutOfResource;
  return in.done() ? kSuccess : kErrUnpackFailure;
}

bool IsOfSupport(const Query& query) {
  const auto is_of_support = [](const std::string& key) {
    const KeyKind kind = KindOf(key);
    return kind == KeyKind::kSupportedKeys || kind == KeyKind::kSpawnSupport;
  };
  return KindOf(query.keys[0]) == KeyKind::kAttributeSupport ||
         (!query.of_qualifiers &&
          std::ranges::any_of(query.keys, is_of_support));
}

std::vector<std::string> HostKeys(const Query& query) {
  const KeyKind first = KindOf(query.keys[0]);
  // These queries are about the keys themselves or about this node, so they
  // need no host.
  if (query.of_qualifiers || query.local_only ||
      first == KeyKind::kAttributeSupport ||
      first == KeyKind::kSupportedQualifiers) {
    return {};
  }
  std::vector<std::string> keys;
  for (const std::string& key : query.keys) {
    if (IsForHost(key) && std::ranges::count(keys, key) == 0) {
      keys.push_back(key);
    }
  }
  return keys;
}

}  // namespace canopy::core
