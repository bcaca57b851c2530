#include "client/session/agent_get.h"

#include <optional>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/qualified_value.h"
#include "common/codec/stored_key.h"
#include "common/describe.h"
#include "common/local/data.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// Returns the KVAL of an answer that satisfies a request for `key`.
std::optional<KvalView> KvalIn(std::string_view payload, std::string_view key) {
  Decoder decoder(payload);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
    if (Satisfies(kval.key, key)) return kval;
  }
  return std::nullopt;
}

// Returns true if the key was put with that scope. A value that was put for one
// side only was put for this process's side, because this process received it.
bool WasPutWith(std::string_view payload, std::string_view key,
                pmix_scope_t scope) {
  if (scope == PMIX_SCOPE_UNDEF) return true;
  const auto told = KvalIn(payload, ScopeNameOf(key));
  const Result<Value> alone = DecodeValue(told ? told->value : "");
  return (alone.ok() && alone->AsBool() == true) == (scope != PMIX_GLOBAL);
}

// Reads the value from the answer. The value is not in shared memory if it does
// not fit there.
int FindInPayload(std::string_view payload, std::string_view key,
                  pmix_scope_t scope, pmix_value_t* value) {
  const auto found = KvalIn(payload, key);
  if (!found || !WasPutWith(payload, found->key, scope)) {
    return PMIX_ERR_NOT_FOUND;
  }
  // The process has deleted the key.
  if (found->type == PMIX_UNDEF) return PMIX_ERR_NOT_FOUND;
  if (!IsQualifiedName(key)) return DecodeValue(found->value, value);
  const auto meant = MeantValueIn(found->value);
  return meant ? DecodeValue(*meant, value) : PMIX_ERR_NOT_FOUND;
}

void AddPayload(std::string_view payload, pmix_scope_t scope, InfoList* all) {
  Decoder decoder(payload);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
    const bool qualified = IsQualifiedName(kval.key);
    if ((IsStoredName(kval.key) && !qualified) ||
        !WasPutWith(payload, kval.key, scope)) {
      continue;
    }
    Result<Value> value = DecodeValue(kval.value);
    if (!value.ok()) continue;
    if (qualified) {
      AddQualified(*std::move(value), all);
    } else if (value->empty()) {
      all->Remove(kval.key);
    } else {
      all->Set(kval.key, *std::move(value));
    }
  }
}

int MoveOut(const InfoList& all, pmix_value_t* value) {
  if (all.empty()) return PMIX_ERR_NOT_FOUND;
  *value = Value::InfoArray(all).Release();
  return value->type == PMIX_UNDEF ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

}  // namespace

GetRequest::GetRequest(const Target& target, std::string_view key,
                       const GetOptions& options)
    : proc_{std::string(target.nspace), target.rank},
      key_(key),
      hostname_(options.hostname),
      options_(options) {}

GetOptions GetRequest::options() const {
  GetOptions options = options_;
  options.hostname = hostname_;
  return options;
}

std::string EncodeGet(const Target& target, std::string_view key,
                      const GetOptions& options) {
  return wire::Encode(local::Get{{target.nspace, target.rank},
                                 key,
                                 options.immediate,
                                 options.refresh,
                                 options.timeout_ms});
}

std::string EncodeRefresh(const Target& target, const GetOptions& options) {
  GetOptions refreshing = options;
  refreshing.refresh = true;
  return EncodeGet(target, {}, refreshing);
}

LookupResult FindLocally(const Session& session, const Target& target,
                         std::string_view key, const GetOptions& options,
                         pmix_value_t* value) {
  if (!key.empty()) return session.lookup().Find(target, key, options, value);
  value->type = PMIX_UNDEF;
  InfoList all;
  LookupResult result = session.lookup().FindAll(target, options, &all);
  if (result.status == PMIX_SUCCESS) result.status = MoveOut(all, value);
  return result;
}

int FindAfterReply(const Session& session, const Target& target,
                   std::string_view key, const GetOptions& options,
                   const Reply& reply, pmix_value_t* value) {
  value->type = PMIX_UNDEF;
  if (reply.status != PMIX_SUCCESS && !key.empty()) return reply.status;
  const bool in_scope = session.lookup().IsSeenWith(target, options.scope);
  if (!key.empty()) {
    const LookupResult found =
        FindLocally(session, target, key, options, value);
    if (found.status != PMIX_ERR_NOT_FOUND || !in_scope) return found.status;
    return FindInPayload(reply.payload, key, options.scope, value);
  }
  InfoList all;
  (void)session.lookup().FindAll(target, options, &all);
  if (options.realm == Realm::kUnknown && in_scope) {
    AddPayload(reply.payload, options.scope, &all);
  }
  if (all.empty() && reply.status != PMIX_SUCCESS) return reply.status;
  return MoveOut(all, value);
}

}  // namespace canopy::client
