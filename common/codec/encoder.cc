#include "common/codec/encoder.h"

#include <climits>
#include <utility>

#include "common/codec/decimal.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {
canopy::Status Encoder::status() const {
  switch (code_) {
    case kSuccess:
      return canopy::Status();
    case kErrUnknownDataType:
      return canopy::Status(code_, "a value is of a type that cannot be sent");
    case kErrPackFailure:
      return canopy::Status(code_, "a value is nested too deeply or too large");
    default:
      return canopy::Status(code_, "a value lacks its content");
  }
}

std::string Encoder::Take() {
  std::string bytes;
  if (ok()) bytes = std::move(out_);
  out_.clear();
  code_ = kSuccess;
  return bytes;
}

void Encoder::PutVarint(uint64_t v) {
  char bytes[9];
  size_t size = 0;
  while (v >= 0x80 && size < 8) {
    bytes[size++] = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  bytes[size++] = static_cast<char>(v);
  out_.append(bytes, size);
}

void Encoder::PutFixed(uint64_t v, int width) {
  for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
    out_.push_back(static_cast<char>(v >> shift));
  }
}

void Encoder::PutSigned(int64_t v, int width) {
  const uint64_t bits = static_cast<uint64_t>(v);
  if (form_.integers == IntegerForm::kFixed) {
    PutFixed(bits, width);
  } else {
    PutVarint(v >= 0 ? bits << 1 : (~bits << 1) | 1);
  }
}

void Encoder::PutSize(size_t v) {
  if (form_.integers == IntegerForm::kFixed) PutType(PMIX_UINT64);
  PutUint64(v);
}

void Encoder::PutInt(int32_t v) {
  if (form_.integers == IntegerForm::kFixed) PutType(PMIX_INT32);
  PutInt32(v);
}

void Encoder::PutPid(pid_t v) {
  PutType(PMIX_UINT32);
  PutUint32(static_cast<uint32_t>(v));
}

void Encoder::PutFloat(float v) { PutString(FormatFloat(v)); }
void Encoder::PutDouble(double v) { PutString(FormatDouble(v)); }

void Encoder::PutString(std::string_view v) {
  v = v.substr(0, v.find('\0'));
  if (v.size() >= INT32_MAX) return Fail(kErrPackFailure);
  PutInt32(static_cast<int32_t>(v.size() + 1));
  out_.append(v);
  out_.push_back('\0');
}

void Encoder::PutCString(const char* v) {
  if (v == nullptr) {
    PutNullString();
  } else {
    PutString(v);
  }
}

void Encoder::PutBytes(std::string_view v) {
  PutSize(v.size());
  out_.append(v);
}

void Encoder::PutProc(const pmix_proc_t& v) {
  PutString(LoadName(v.nspace, sizeof(v.nspace)));
  PutUint32(v.rank);
}

void Encoder::PutProc(const ProcId& v) {
  PutString(std::string_view(v.nspace).substr(0, kMaxNspaceLen));
  PutUint32(v.rank);
}

void Encoder::PutValue(const pmix_value_t& v) {
  const TypeInfo* type = CarriedType(form_, v.type);
  if (type == nullptr) return Fail(kErrUnknownDataType);
  if (depth_ >= kMaxNesting) return Fail(kErrPackFailure);
  ++depth_;
  PutType(v.type);
  const void* element = ValueElement(*type, v);
  if (element != nullptr) {
    PutFields(*type, element);
  } else if (v.type == PMIX_DATA_ARRAY) {
    PutDataArray({});
  } else {
    Fail(kErrBadParam);
  }
  --depth_;
}

void Encoder::PutInfo(const pmix_info_t& v) {
  PutString(LoadName(v.key, sizeof(v.key)));
  PutUint32(v.flags);
  PutValue(v.value);
}

void Encoder::PutKval(std::string_view key, const pmix_value_t& v) {
  PutString(key);
  PutValue(v);
}

void Encoder::PutKvalEncoded(std::string_view key, std::string_view encoded) {
  PutString(key);
  out_.append(encoded);
}

void Encoder::BeginCall(pmix_data_type_t type, int32_t count) {
  if (form_.described) PutType(PMIX_INT32);
  PutInt32(count);
  if (form_.described) PutType(type);
}

void Encoder::PackCall(pmix_data_type_t type, int32_t count,
                       const void* elements) {
  if (count < 0) return Fail(kErrBadParam);
  BeginCall(type, count);
  PutElements(type, elements, static_cast<size_t>(count));
}

void Encoder::PackByte(pmix_data_type_t type, uint8_t v) {
  BeginCall(type, 1);
  PutByte(v);
}

void Encoder::PackSize(size_t v) {
  BeginCall(PMIX_SIZE, 1);
  PutSize(v);
}

void Encoder::PackStatus(pmix_status_t v) {
  BeginCall(PMIX_STATUS, 1);
  PutInt32(v);
}

void Encoder::PackRank(Rank v) {
  BeginCall(PMIX_PROC_RANK, 1);
  PutUint32(v);
}

void Encoder::PackString(std::string_view v) {
  BeginCall(PMIX_STRING, 1);
  PutString(v);
}

void Encoder::PackProc(const ProcId& v) { PackProcs({&v, 1}); }

void Encoder::PackProcs(std::span<const ProcId> v) {
  if (v.empty()) return;
  BeginCall(PMIX_PROC, static_cast<int32_t>(v.size()));
  for (const ProcId& proc : v) PutProc(proc);
}

void Encoder::PackInfos(std::span<const pmix_info_t> v) {
  if (v.empty()) return;
  BeginCall(PMIX_INFO, static_cast<int32_t>(v.size()));
  for (const pmix_info_t& info : v) PutInfo(info);
}

void Encoder::PackByteObject(std::string_view v) {
  BeginCall(PMIX_BYTE_OBJECT, 1);
  PutBytes(v);
}

void Encoder::PackKval(std::string_view key, const pmix_value_t& v) {
  BeginCall(kKvalType, 1);
  PutKval(key, v);
}

void Encoder::PackKvalEncoded(std::string_view key, std::string_view encoded) {
  BeginCall(kKvalType, 1);
  PutKvalEncoded(key, encoded);
}

std::string EncodeValue(const pmix_value_t& value, CodecForm form) {
  Encoder encoder(form);
  encoder.PutValue(value);
  return encoder.Take();
}

}  // namespace canopy
