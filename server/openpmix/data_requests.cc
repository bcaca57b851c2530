#include "server/openpmix/data_requests.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/codec/stored_key.h"
#include "common/codec/transcode.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/openpmix/directive_check.h"
#include "server/openpmix/kvals.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kMaxQueries = 1 << 12;
constexpr size_t kMaxKeys = 1 << 12;

// Returns KVALs with the same keys and empty values, which delete these keys.
std::string Deletions(std::string_view kvals) {
  const Value none;
  Encoder out;
  Decoder in(kvals);
  KvalView kval;
  while (!in.AtEnd() && in.GetKval(&kval)) out.PutKval(kval.key, none.raw());
  return out.Take();
}

bool ReadScope(Decoder& in, core::ScopedData* data) {
  uint8_t scope = 0;
  std::string_view payload;
  CodecForm form;
  if (!in.UnpackByte(PMIX_SCOPE, &scope) || !in.UnpackBuffer(&payload, &form)) {
    return false;
  }
  const bool deletes = scope >= PMIX_DEL_LOCAL && scope <= PMIX_DEL_GLOBAL;
  if (deletes) scope -= PMIX_DEL_LOCAL - PMIX_LOCAL;
  if (scope < PMIX_LOCAL || scope > PMIX_GLOBAL) {
    return in.Fail(kErrNotSupported);
  }
  data->scope = static_cast<core::Scope>(scope);
  Decoder nested(payload, form);
  std::string kvals;
  const int code = ReadKvals(&nested, &kvals);
  if (code != kSuccess) return in.Fail(code);
  data->kvals = Bytes(deletes ? Deletions(kvals) : std::move(kvals));
  return true;
}

// Decompresses strings, because many clients cannot read compressed ones.
bool Inflate(Decoder& in, InfoList* infos) {
  for (size_t i = 0; i < infos->size(); ++i) {
    pmix_value_t& value = infos->mutable_data()[i].value;
    const auto plain = InflateString(EncodeValue(value));
    if (!plain) continue;
    Result<Value> text = DecodeValue(*plain);
    if (!text.ok()) return in.Fail(text.code());
    Value::Adopt(&value);
    value = text->Release();
  }
  return true;
}

// Skips the user that a client claims to be.
void SkipUser(Decoder& in) {
  uint32_t user = 0;
  size_t count = 0;
  in.UnpackElements(PMIX_UINT32, 1, &user, &count);
}

void ReadKeys(Decoder& in, std::vector<std::string>* keys) {
  size_t n = 0;
  in.UnpackSize(&n);
  if (n > kMaxKeys) in.Fail(kErrOutOfResource);
  for (size_t i = 0; i < n && in.ok(); ++i) {
    ReadText(in, kMaxKeyLen, &keys->emplace_back());
  }
}

// Reads PMIx_Lookup and PMIx_Unpublish.
template <typename Input>
Request ReadOfKeys(Reading& r, AnswerForm answer) {
  Input input;
  input.client = r.requester.client;
  input.request = r.tag;
  InfoList infos;
  SkipUser(r.in);
  ReadKeys(r.in, &input.keys);
  if (r.in.UnpackCountedInfos(&infos)) OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input), answer};
}

bool ReadOneQuery(Decoder& in, Encoder* out) {
  int32_t keys = 0;
  size_t qualifiers = 0;
  if (!in.GetInt32(&keys)) return false;
  if (keys < 0 || static_cast<size_t>(keys) > kMaxQueries) {
    return in.Fail(kErrUnpackFailure);
  }
  out->PutInt32(keys);
  for (int32_t i = 0; i < keys; ++i) {
    std::string_view key;
    if (!in.GetString(&key)) return false;
    out->PutString(key);
  }
  if (!in.GetSize(&qualifiers)) return false;
  if (qualifiers > kMaxQueries) return in.Fail(kErrUnpackFailure);
  out->PutSize(qualifiers);
  InfoList read;
  for (size_t i = 0; i < qualifiers; ++i) {
    pmix_info_t info;
    if (!in.GetInfo(&info)) return false;
    read.Adopt(&info);
  }
  for (const pmix_info_t& info : read) out->PutInfo(info);
  return true;
}

}  // namespace

Request ReadJobInfo(Reading&) { return JobInfoRequest{}; }

Request ReadCommit(Reading& r) {
  core::Committed input;
  input.client = r.requester.client;
  input.request = r.tag;
  while (!r.in.AtEnd() && r.in.ok()) {
    core::ScopedData data;
    if (!ReadScope(r.in, &data)) break;
    input.data.push_back(std::move(data));
  }
  return CoreRequest{std::move(input)};
}

Request ReadGet(Reading& r) {
  core::GetArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  InfoList infos;
  ReadText(r.in, kMaxNspaceLen, &input.target.nspace);
  r.in.UnpackRank(&input.target.rank);
  r.in.UnpackCountedInfos(&infos);
  CheckDirectives(r, "PMIx_Get", infos);
  if (!r.in.AtEnd()) ReadText(r.in, kMaxKeyLen, &input.key);
  if (!input.key.empty()) {
    input.key = QualifiedNameOf(input.key, infos.span());
  }
  input.immediate = FlagIn(infos, PMIX_IMMEDIATE);
  input.refresh = FlagIn(infos, PMIX_GET_REFRESH_CACHE);
  input.timeout_ms = TimeoutMs(infos);
  return CoreRequest{std::move(input), AnswerForm::kGet};
}

Request ReadRefresh(Reading& r) {
  core::GetArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.refresh = true;
  ReadText(r.in, kMaxNspaceLen, &input.target.nspace);
  r.in.UnpackRank(&input.target.rank);
  return CoreRequest{std::move(input), AnswerForm::kRefresh};
}

Request ReadPublish(Reading& r) {
  core::PublishArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  InfoList infos;
  SkipUser(r.in);
  if (r.in.UnpackCountedInfos(&infos) && Inflate(r.in, &infos)) {
    OurForm(r.in, infos, &input.info);
  }
  return CoreRequest{std::move(input)};
}

Request ReadLookup(Reading& r) {
  return ReadOfKeys<core::LookupArrived>(r, AnswerForm::kFound);
}

Request ReadUnpublish(Reading& r) {
  return ReadOfKeys<core::UnpublishArrived>(r, AnswerForm::kStatus);
}

Request ReadQuery(Reading& r) {
  core::QueryArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  size_t n = 0;
  size_t count = 0;
  Encoder out;
  r.in.UnpackSize(&n);
  if (n > kMaxQueries) r.in.Fail(kErrOutOfResource);
  if (n > 0 && r.in.UnpackCount(PMIX_QUERY, &count) && count != n) {
    r.in.Fail(kErrUnpackFailure);
  }
  if (!r.in.ok()) return RefusedRequest{};
  out.PutSize(n);
  for (size_t i = 0; i < n; ++i) {
    if (!ReadOneQuery(r.in, &out)) return RefusedRequest{};
  }
  if (!out.ok()) return RefusedRequest{out.status().code()};
  input.queries = Bytes(out.Take());
  return CoreRequest{std::move(input), AnswerForm::kQuery};
}

Request ReadLog(Reading& r) {
  LogRequest request;
  size_t count = 0;
  r.in.UnpackElements(PMIX_TIME, 1, &request.stamp, &count);
  r.in.UnpackCountedInfos(&request.data);
  r.in.UnpackCountedInfos(&request.directives);
  return request;
}

Request ReadResolvePeers(Reading& r) {
  ResolvePeersRequest request;
  ReadText(r.in, kMaxText, &request.node);
  ReadText(r.in, kMaxNspaceLen, &request.nspace);
  return request;
}

Request ReadResolveNodes(Reading& r) {
  ResolveNodesRequest request;
  ReadText(r.in, kMaxNspaceLen, &request.nspace);
  return request;
}

}  // namespace canopy::openpmix
