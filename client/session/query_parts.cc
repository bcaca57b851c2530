#include "client/session/query_parts.h"

#include <algorithm>
#include <string_view>

#include "client/session/directives.h"
#include "common/codec/encoder.h"
#include "common/describe.h"
#include "common/local/calls.h"
#include "common/support/ignored_directives.h"
#include "common/values/rank.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// PMIX_PROC_INFO is given by its key, because the macro of this name in the
// headers is a data type.
constexpr std::string_view kOfRealm[] = {
    PMIX_SESSION_INFO, PMIX_JOB_INFO,    PMIX_APP_INFO,
    PMIX_NODE_INFO,    "pmix.proc.info", PMIX_SESSION_ID,
    PMIX_APPNUM,       PMIX_NODEID,      PMIX_HOSTNAME};
constexpr std::string_view kOfProcess[] = {PMIX_PROCID, PMIX_NSPACE, PMIX_RANK,
                                           PMIX_USERID, PMIX_GRPID};
constexpr std::string_view kNotOfAnswer[] = {PMIX_QUERY_REFRESH_CACHE,
                                             PMIX_TIMEOUT};

int ReadKeys(const pmix_query_t& query, QueryParts* parts) {
  if (query.keys == nullptr) return PMIX_ERR_BAD_PARAM;
  for (char** key = query.keys; *key != nullptr; ++key) {
    const std::string_view text(*key);
    if (text.empty() || text.size() > kMaxKeyLen) return PMIX_ERR_BAD_PARAM;
    parts->keys.emplace_back(text);
    // PMIX_QUERY_SUPPORTED_QUALIFIERS changes the meaning of the other keys at
    // any position, PMIX_QUERY_ATTRIBUTE_SUPPORT only at the first.
    parts->of_qualifiers |= text == PMIX_QUERY_SUPPORTED_QUALIFIERS;
    parts->here &= text != PMIX_QUERY_SUPPORTED_QUALIFIERS &&
                   text != PMIX_QUERY_ATTRIBUTE_SUPPORT;
  }
  if (parts->keys.empty()) return PMIX_ERR_BAD_PARAM;
  parts->of_support = parts->keys[0] == PMIX_QUERY_ATTRIBUTE_SUPPORT;
  return PMIX_SUCCESS;
}

// The qualifiers that a query of support uses.
constexpr std::string_view kOfSupport[] = {
    PMIX_CLIENT_FUNCTIONS,    PMIX_CLIENT_ATTRIBUTES, PMIX_SERVER_FUNCTIONS,
    PMIX_SERVER_ATTRIBUTES,   PMIX_HOST_FUNCTIONS,    PMIX_HOST_ATTRIBUTES,
    PMIX_TOOL_FUNCTIONS,      PMIX_TOOL_ATTRIBUTES,   PMIX_TIMEOUT,
    PMIX_QUERY_REFRESH_CACHE,
};

bool IsOf(std::string_view key, std::span<const std::string_view> keys) {
  return std::ranges::count(keys, key) > 0;
}

int ReadProcess(QueryParts* parts) {
  const InfoList& q = parts->qualifiers;
  const auto proc = q.FindProc(PMIX_PROCID);
  if (q.Has(PMIX_PROCID)) {
    if (!proc || q.Has(PMIX_NSPACE) || q.Has(PMIX_RANK)) {
      return PMIX_ERR_BAD_PARAM;
    }
    parts->proc = *proc;
    return PMIX_SUCCESS;
  }
  if (q.Has(PMIX_NSPACE)) {
    const auto nspace = q.FindString(PMIX_NSPACE);
    if (!nspace || nspace->empty()) return PMIX_ERR_BAD_PARAM;
    parts->proc.nspace = *nspace;
  }
  if (q.Has(PMIX_RANK)) {
    const auto rank = RankOf(q.Find(PMIX_RANK)->value);
    if (!rank) return PMIX_ERR_BAD_PARAM;
    parts->proc.rank = *rank;
  }
  return PMIX_SUCCESS;
}

}  // namespace

int ReadQuery(const pmix_query_t& query, QueryParts* parts) {
  if (query.qualifiers == nullptr && query.nqual > 0) return PMIX_ERR_BAD_PARAM;
  int rc = ReadKeys(query, parts);
  if (rc != PMIX_SUCCESS) return rc;
  parts->qualifiers = InfoList::FromC(query.qualifiers, query.nqual);
  rc = ReadProcess(parts);
  if (rc != PMIX_SUCCESS) return rc;
  Encoder cache_key;
  for (const pmix_info_t& info : parts->qualifiers) {
    const std::string_view key = KeyOf(info);
    if (key == PMIX_QUERY_REFRESH_CACHE && IsTrue(info)) parts->here = false;
    if (key == PMIX_QUERY_SUPPORTED_QUALIFIERS) {
      parts->here = false;
      parts->of_qualifiers = true;
    }
    if (IsRequired(info)) parts->here = false;
    if (parts->of_support && !IsOf(key, kOfSupport)) {
      rc = support::NotHonoured("PMIx_Query_info", info);
      if (rc != PMIX_SUCCESS) return rc;
    }
    parts->only_of_data &=
        IsOf(key, kOfRealm) || IsOf(key, kOfProcess) || IsOf(key, kNotOfAnswer);
    if (IsOf(key, kOfRealm)) parts->realm.Add(key, Value::FromC(info.value));
    if (!IsOf(key, kNotOfAnswer)) cache_key.PutInfo(info);
  }
  if (!cache_key.ok()) return cache_key.status().code();
  parts->cache_key = cache_key.Take();
  return PMIX_SUCCESS;
}

int EncodeQuery(const std::vector<std::string>& keys,
                const InfoList& qualifiers, std::string* frame) {
  Encoder query;
  query.PutSize(1);
  query.PutInt32(static_cast<int32_t>(keys.size()));
  for (const std::string& key : keys) query.PutString(key);
  query.PutSize(qualifiers.size());
  for (const pmix_info_t& info : qualifiers) query.PutInfo(info);
  if (!query.ok()) return query.status().code();
  const std::string queries = query.Take();
  *frame = wire::Encode(local::Query{queries});
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
