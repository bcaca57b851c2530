#include "server/openpmix/kvals.h"

#include <optional>
#include <utility>
#include <vector>

#include "common/codec/infos.h"
#include "common/codec/qualified_value.h"
#include "common/codec/stored_key.h"
#include "common/codec/transcode.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::openpmix {
namespace {

// Returns true if a value of this type may contain other values. Versions
// differ in the encoding of empty arrays inside values, so such values are
// encoded anew.
bool MayHoldArrays(pmix_data_type_t type) {
  switch (type) {
    case PMIX_VALUE:
    case PMIX_APP:
    case PMIX_INFO:
    case PMIX_PDATA:
    case PMIX_DATA_ARRAY:
    case PMIX_QUERY:
      return true;
    default:
      return false;
  }
}

bool IsStatistics(pmix_data_type_t type) {
  return type >= PMIX_PROC_STATS && type <= PMIX_NODE_STATS;
}

// Stores a qualified value under a name of its own, because clients send all
// qualified values under one key. A malformed value is stored under that key.
int AppendQualified(std::string_view value, std::string* out) {
  const Result<Value> array = DecodeValue(value);
  if (!array.ok()) return array.code();
  const std::string name =
      StoredNameOf(array->raw()).value_or(PMIX_QUALIFIED_VALUE);
  const bool is_plain = !IsQualifiedName(name) && name != PMIX_QUALIFIED_VALUE;
  Encoder encoder;
  encoder.PutKvalEncoded(
      name, is_plain ? MeantValueIn(value).value_or(value) : value);
  out->append(encoder.Take());
  return kSuccess;
}

int AppendKval(const KvalView& kval, const CodecForm& form, std::string* out) {
  std::string rewritten;
  std::string_view value = kval.value;
  if (auto text = InflateString(value, form)) {
    rewritten = *std::move(text);
    value = rewritten;
  }
  if (form.integers != kModernForm.integers || MayHoldArrays(kval.type)) {
    Result<std::string> transcoded = TranscodeValue(value, form, kModernForm);
    if (!transcoded.ok()) return transcoded.code();
    rewritten = *std::move(transcoded);
    value = rewritten;
  }
  if (kval.key == PMIX_QUALIFIED_VALUE) return AppendQualified(value, out);
  Encoder encoder;
  encoder.PutKvalEncoded(kval.key, value);
  if (!encoder.ok()) return encoder.status().code();
  out->append(encoder.Take());
  return kSuccess;
}

}  // namespace

int ReadKvals(Decoder* in, std::string* out) {
  while (!in->AtEnd()) {
    KvalView kval;
    if (!in->UnpackKval(&kval)) return in->code();
    if (kval.key.empty() || kval.key.size() > kMaxKeyLen ||
        IsStoredName(kval.key)) {
      return kErrUnpackFailure;
    }
    const int status = AppendKval(kval, in->form(), out);
    if (status != kSuccess) return status;
  }
  return in->code();
}

std::string ValueFor(const PeerTraits& peer, std::string_view value) {
  const std::optional<pmix_data_type_t> type = EncodedType(value);
  if (!type || *type > peer.form.max_type ||
      (IsStatistics(*type) && !peer.reads_statistics)) {
    return "";
  }
  if (peer.form.integers == kModernForm.integers) return std::string(value);
  Result<std::string> transcoded =
      TranscodeValue(value, kModernForm, peer.form);
  return transcoded.ok() ? *std::move(transcoded) : "";
}

void PackKval(const PeerTraits& peer, std::string_view key,
              std::string_view value, Encoder* out) {
  const std::string theirs = ValueFor(peer, value);
  if (!theirs.empty()) out->PackKvalEncoded(key, theirs);
}

void PackKvals(const PeerTraits& peer, std::string_view kvals, Encoder* out) {
  Decoder decoder(kvals);
  KvalView kval;
  while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
    // A deleted key has no value. Most clients would mistake PMIX_UNDEF for
    // one.
    if (kval.type == PMIX_UNDEF) continue;
    if (IsQualifiedName(kval.key)) {
      PackKval(peer, PMIX_QUALIFIED_VALUE, kval.value, out);
    } else if (!IsStoredName(kval.key)) {
      PackKval(peer, kval.key, kval.value, out);
    }
  }
}

bool PackInfos(const PeerTraits& peer, std::string_view infos, Encoder* out) {
  InfoList list;
  if (!DecodeInfos(infos, &list)) return false;
  // Infos that the client cannot read are omitted individually.
  InfoList readable;
  for (const pmix_info_t& info : list) {
    Encoder probe(peer.form);
    probe.PutInfo(info);
    if (probe.ok()) readable.Append(info);
  }
  out->PackSize(readable.size());
  out->PackInfos(readable.span());
  return out->ok();
}

bool PackFound(const PeerTraits& peer, std::string_view found, Encoder* out) {
  Decoder in(found);
  size_t count = 0;
  if (!in.GetSize(&count)) return false;
  std::vector<Value> values;  // own the data of the elements
  std::vector<pmix_pdata_t> readable;
  for (size_t i = 0; i < count; ++i) {
    ProcId proc;
    std::string_view key;
    Value value;
    if (!in.GetProc(&proc) || !in.GetString(&key) || !in.GetValue(&value) ||
        key.size() > kMaxKeyLen) {
      return false;
    }
    if (ValueFor(peer, EncodeValue(value.raw())).empty()) continue;
    pmix_pdata_t pdata = {ToC(proc), {}, value.raw()};
    key.copy(pdata.key, kMaxKeyLen);
    readable.push_back(pdata);
    values.push_back(std::move(value));
  }
  out->PackSize(readable.size());
  if (!readable.empty()) {
    out->PackCall(PMIX_PDATA, static_cast<int32_t>(readable.size()),
                  readable.data());
  }
  return out->ok();
}

}  // namespace canopy::openpmix
