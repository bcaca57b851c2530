#include "common/codec/decoder.h"

#include <utility>

#include "common/codec/decimal.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

// Arrays of addresses take no bytes per element in the input, so this is their
// only bound.
constexpr size_t kMaxPointers = 65536;

}  // namespace

bool Decoder::Fail(int code) {
  if (code_ == kSuccess) code_ = code;
  in_ = {};
  return false;
}

canopy::Status Decoder::status() const {
  switch (code_) {
    case kSuccess:
      return canopy::Status();
    case kErrUnpackReadPastEnd:
      return canopy::Status(code_, "the data end too early");
    case kErrUnknownDataType:
      return canopy::Status(code_, "the data hold a type that is not known");
    case kErrTypeMismatch:
      return canopy::Status(code_, "the data are of another type");
    default:
      return canopy::Status(code_, "the data are malformed");
  }
}

bool Decoder::GetRaw(size_t size, std::string_view* v) {
  if (!ok()) return false;
  if (size > in_.size()) return Fail(kErrUnpackReadPastEnd);
  *v = in_.substr(0, size);
  in_.remove_prefix(size);
  return true;
}

bool Decoder::GetByte(uint8_t* v) {
  if (in_.empty()) return Fail(kErrUnpackReadPastEnd);
  *v = static_cast<uint8_t>(in_.front());
  in_.remove_prefix(1);
  return true;
}

bool Decoder::GetBool(bool* v) {
  uint8_t byte = 0;
  if (!GetByte(&byte)) return false;
  *v = byte != 0;
  return true;
}

bool Decoder::GetVarint(uint64_t* v) {
  uint64_t result = 0;
  for (size_t i = 0; i < in_.size() && i < 9; ++i) {
    const uint64_t byte = static_cast<uint8_t>(in_[i]);
    if (i == 8 || byte < 0x80) {
      *v = result | byte << (7 * i);
      in_.remove_prefix(i + 1);
      return true;
    }
    result |= (byte & 0x7f) << (7 * i);
  }
  return Fail(kErrUnpackReadPastEnd);
}

bool Decoder::GetFixed(uint64_t* v, int width) {
  std::string_view bytes;
  if (!GetRaw(width, &bytes)) return false;
  uint64_t result = 0;
  for (const char c : bytes) result = result << 8 | static_cast<uint8_t>(c);
  *v = result;
  return true;
}

bool Decoder::GetUnsigned(uint64_t* v, int width) {
  if (form_.integers == IntegerForm::kFixed) return GetFixed(v, width);
  uint64_t wide = 0;
  if (!GetVarint(&wide)) return false;
  if (width < 8 && wide >> (8 * width) != 0) return Fail(kErrUnpackFailure);
  *v = wide;
  return true;
}

bool Decoder::GetSigned(int64_t* v, int width) {
  uint64_t bits = 0;
  if (!GetUnsigned(&bits, width)) return false;
  if (form_.integers == IntegerForm::kFixed) {
    const int unused = 64 - 8 * width;
    *v = static_cast<int64_t>(bits << unused) >> unused;
  } else {
    const uint64_t magnitude = bits >> 1;
    *v = static_cast<int64_t>((bits & 1) != 0 ? ~magnitude : magnitude);
  }
  return true;
}

bool Decoder::GetUint16(uint16_t* v) {
  uint64_t wide = 0;
  if (!GetUnsigned(&wide, 2)) return false;
  *v = static_cast<uint16_t>(wide);
  return true;
}

bool Decoder::GetUint32(uint32_t* v) {
  uint64_t wide = 0;
  if (!GetUnsigned(&wide, 4)) return false;
  *v = static_cast<uint32_t>(wide);
  return true;
}

bool Decoder::GetUint64(uint64_t* v) { return GetUnsigned(v, 8); }

bool Decoder::GetInt16(int16_t* v) {
  int64_t wide = 0;
  if (!GetSigned(&wide, 2)) return false;
  *v = static_cast<int16_t>(wide);
  return true;
}

bool Decoder::GetInt32(int32_t* v) {
  int64_t wide = 0;
  if (!GetSigned(&wide, 4)) return false;
  *v = static_cast<int32_t>(wide);
  return true;
}

bool Decoder::GetInt64(int64_t* v) { return GetSigned(v, 8); }

bool Decoder::GetTag(pmix_data_type_t expected) {
  uint16_t tag = 0;
  if (!GetUint16(&tag)) return false;
  return tag == expected || Fail(kErrTypeMismatch);
}

bool Decoder::GetSize(size_t* v) {
  if (form_.integers == IntegerForm::kFixed && !GetTag(PMIX_UINT64)) {
    return false;
  }
  uint64_t wide = 0;
  if (!GetUint64(&wide)) return false;
  *v = wide;
  return true;
}

bool Decoder::GetInt(int32_t* v) {
  if (form_.integers == IntegerForm::kFixed && !GetTag(PMIX_INT32)) {
    return false;
  }
  return GetInt32(v);
}

bool Decoder::GetPid(pid_t* v) {
  uint32_t wide = 0;
  if (!GetTag(PMIX_UINT32) || !GetUint32(&wide)) return false;
  *v = static_cast<pid_t>(wide);
  return true;
}

bool Decoder::GetFloat(float* v) {
  std::string_view text;
  if (!GetString(&text)) return false;
  // GetString has checked the terminator behind the view.
  const auto number = text.empty() ? std::nullopt : ParseFloat(text.data());
  if (!number) return Fail(kErrUnpackFailure);
  *v = *number;
  return true;
}

bool Decoder::GetDouble(double* v) {
  std::string_view text;
  if (!GetString(&text)) return false;
  const auto number = text.empty() ? std::nullopt : ParseDouble(text.data());
  if (!number) return Fail(kErrUnpackFailure);
  *v = *number;
  return true;
}

bool Decoder::GetString(std::string_view* v, bool* is_null) {
  int32_t length = 0;
  if (!GetInt32(&length)) return false;
  if (length < 0) return Fail(kErrUnpackFailure);
  std::string_view text;
  if (!GetRaw(static_cast<size_t>(length), &text)) return false;
  if (is_null != nullptr) *is_null = length == 0;
  if (length > 0) {
    if (text.find('\0') != text.size() - 1) return Fail(kErrUnpackFailure);
    text.remove_suffix(1);
  }
  *v = text;
  return true;
}

bool Decoder::GetBytes(std::string_view* v) {
  size_t size = 0;
  return GetSize(&size) && GetRaw(size, v);
}

bool Decoder::GetProc(ProcId* v) {
  std::string_view nspace;
  if (!GetString(&nspace)) return false;
  if (nspace.size() > kMaxNspaceLen) return Fail(kErrUnpackFailure);
  v->nspace = nspace;
  return GetUint32(&v->rank);
}

bool Decoder::GetKval(KvalView* v) {
  if (!GetString(&v->key)) return false;
  if (v->key.size() > kMaxKeyLen) return Fail(kErrUnpackFailure);
  const std::string_view start = in_;
  v->type = EncodedType(start, form_).value_or(PMIX_UNDEF);
  if (!SkipValue()) return false;
  v->value = start.substr(0, start.size() - in_.size());
  return true;
}

bool Decoder::GetCount(CountForm form, size_t* count) {
  if (form == CountForm::kSize) return GetSize(count);
  int32_t narrow = 0;
  if (!(form == CountForm::kInt ? GetInt(&narrow) : GetInt32(&narrow))) {
    return false;
  }
  if (narrow < 0) return Fail(kErrUnpackFailure);
  *count = static_cast<size_t>(narrow);
  return true;
}

const TypeInfo* Decoder::Carried(pmix_data_type_t id) {
  const TypeInfo* type = CarriedType(form_, id);
  if (type == nullptr) Fail(kErrUnknownDataType);
  return type;
}

bool Decoder::CheckCount(pmix_data_type_t id, const TypeInfo& type,
                         size_t count) {
  if (id == PMIX_POINTER) {
    return count <= kMaxPointers || Fail(kErrUnpackFailure);
  }
  if (type.min_wire_bytes == 0 || count > in_.size() / type.min_wire_bytes) {
    return count == 0 || Fail(kErrUnpackReadPastEnd);
  }
  return true;
}

bool Decoder::Reserve(size_t count, size_t size) {
  // Counts were checked against the input, so this cannot overflow.
  const size_t bytes = count * size;
  if (bytes > memory_left_) return Fail(kErrOutOfResource);
  memory_left_ -= bytes;
  return true;
}

bool Decoder::UnpackCount(pmix_data_type_t id, size_t* count) {
  if (form_.described && !GetTag(PMIX_INT32)) return false;
  if (!GetCount(CountForm::kInt32, count)) return false;
  return !form_.described || GetTag(id);
}

bool Decoder::BeginOne(pmix_data_type_t type) {
  size_t count = 0;
  if (!UnpackCount(type, &count)) return false;
  return count == 1 || Fail(kErrUnpackFailure);
}

bool Decoder::UnpackByte(pmix_data_type_t type, uint8_t* v) {
  return BeginOne(type) && GetByte(v);
}
bool Decoder::UnpackSize(size_t* v) {
  return BeginOne(PMIX_SIZE) && GetSize(v);
}
bool Decoder::UnpackStatus(pmix_status_t* v) {
  return BeginOne(PMIX_STATUS) && GetInt32(v);
}
bool Decoder::UnpackRank(Rank* v) {
  return BeginOne(PMIX_PROC_RANK) && GetUint32(v);
}
bool Decoder::UnpackString(std::string_view* v, bool* is_null) {
  return BeginOne(PMIX_STRING) && GetString(v, is_null);
}
bool Decoder::UnpackKval(KvalView* v) {
  return BeginOne(kKvalType) && GetKval(v);
}

bool Decoder::UnpackBuffer(std::string_view* payload, CodecForm* form) {
  uint8_t kind = 0;
  if (!BeginOne(kBufferType) || !GetByte(&kind)) return false;
  if (kind != 1 && kind != 2) return Fail(kErrUnpackFailure);
  *form = form_;
  form->described = kind == 2;
  return GetBytes(payload);
}

bool Decoder::UnpackCountedInfos(InfoList* v) {
  size_t n = 0;
  return UnpackSize(&n) && UnpackInfos(n, v);
}

bool Decoder::UnpackProcs(size_t n, std::vector<ProcId>* v) {
  if (n == 0) return ok();
  size_t count = 0;
  if (!UnpackCount(PMIX_PROC, &count)) return false;
  if (count != n) return Fail(kErrUnpackFailure);
  if (!CheckCount(PMIX_PROC, *FindType(PMIX_PROC), n)) return false;
  for (size_t i = 0; i < n; ++i) {
    ProcId proc;
    if (!GetProc(&proc)) return false;
    v->push_back(std::move(proc));
  }
  return true;
}

bool Decoder::UnpackInfos(size_t n, InfoList* v) {
  if (n == 0) return ok();
  size_t count = 0;
  if (!UnpackCount(PMIX_INFO, &count)) return false;
  if (count != n) return Fail(kErrUnpackFailure);
  if (!CheckCount(PMIX_INFO, *FindType(PMIX_INFO), n)) return false;
  for (size_t i = 0; i < n; ++i) {
    pmix_info_t info;
    if (!Reserve(1, sizeof(info)) || !GetInfo(&info)) return false;
    v->Adopt(&info);
  }
  return true;
}

int DecodeValue(std::string_view encoded, pmix_value_t* value, CodecForm form) {
  Decoder decoder(encoded, form);
  if (!decoder.GetValue(value)) return decoder.code();
  if (decoder.done()) return kSuccess;
  DestructValue(value);
  return kErrUnpackFailure;
}

Result<Value> DecodeValue(std::string_view encoded, CodecForm form) {
  Value value;
  const int code = DecodeValue(encoded, value.mutable_raw(), form);
  if (code != kSuccess) return canopy::Status(code, "a value is malformed");
  return value;
}

std::optional<pmix_data_type_t> EncodedType(std::string_view encoded,
                                            CodecForm form) {
  Decoder decoder(encoded, form);
  uint16_t type = 0;
  if (!decoder.GetUint16(&type)) return std::nullopt;
  return type;
}

}  // namespace canopy
