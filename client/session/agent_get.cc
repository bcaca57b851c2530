#include "client/session/agent_get.h"

#include <utility>

#include "common/codec/decoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

std::string Encode(const Target& target, std::string_view key, bool immediate,
                   bool refresh, uint32_t timeout_ms) {
  WireWriter out;
  out.String(target.nspace);
  out.Uint(target.rank);
  out.String(key);
  out.Bool(immediate);
  out.Bool(refresh);
  out.Uint(timeout_ms);
  return out.Take();
}

// Searches the KVALs of an answer: what did not fit into shared memory is only
// in these.
int FindInPayload(std::string_view payload, std::string_view key,
                  pmix_value_t* value) {
  Decoder decoder(payload);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
    if (kval.key == key) return DecodeValue(kval.value, value);
  }
  return PMIX_ERR_NOT_FOUND;
}

void AddPayload(std::string_view payload, InfoList* all) {
  Decoder decoder(payload);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
    Result<Value> value = DecodeValue(kval.value);
    if (value.ok()) all->Set(kval.key, std::move(value).value());
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
  return Encode(target, key, options.immediate, options.refresh,
                options.timeout_ms);
}

std::string EncodeRefresh(const Target& target, const GetOptions& options) {
  return Encode(target, {}, options.immediate, /*refresh=*/true,
                options.timeout_ms);
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
  if (!key.empty()) {
    const LookupResult found =
        FindLocally(session, target, key, options, value);
    if (found.status != PMIX_ERR_NOT_FOUND) return found.status;
    return FindInPayload(reply.payload, key, value);
  }
  InfoList all;
  (void)session.lookup().FindAll(target, options, &all);
  if (options.realm == Realm::kUnknown) AddPayload(reply.payload, &all);
  if (all.empty() && reply.status != PMIX_SUCCESS) return reply.status;
  return MoveOut(all, value);
}

}  // namespace canopy::client
