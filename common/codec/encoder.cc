#include "common/codec/encoder.h"

#include <sys/time.h>

#include <climits>
#include <cstring>
#include <utility>

#include "common/codec/decimal.h"
#include "common/values/hwloc_access.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

template <typename T>
const T& At(const void* element, size_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(element) +
                                     offset);
}

}  // namespace

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

void Encoder::PutElement(pmix_data_type_t id, const void* element) {
  PutElements(id, element, 1);
}

void Encoder::PutCount(CountForm form, size_t count) {
  if (form == CountForm::kSize) return PutSize(count);
  if (count > INT32_MAX) return Fail(kErrPackFailure);
  if (form == CountForm::kInt) {
    PutInt(static_cast<int32_t>(count));
  } else {
    PutInt32(static_cast<int32_t>(count));
  }
}

void Encoder::PutElements(pmix_data_type_t id, const void* elements,
                          size_t count) {
  const TypeInfo* type = CarriedType(form_, id);
  if (type == nullptr || type->size == 0) return Fail(kErrUnknownDataType);
  if (id == PMIX_POINTER) {
    // Addresses mean nothing elsewhere: one byte stands for all of them.
    if (count > 0) PutByte(1);
    return;
  }
  for (size_t i = 0; i < count && ok(); ++i) {
    PutFields(*type, &At<char>(elements, i * type->size));
  }
}

void Encoder::PutFields(const TypeInfo& type, const void* element) {
  for (const Field& field : type) {
    if (!ok()) break;
    if (field.on_wire) PutField(field, element);
  }
}

void Encoder::PutStrings(CountForm form, char* const* strings) {
  size_t count = 0;
  while (strings != nullptr && strings[count] != nullptr) ++count;
  PutCount(form, count);
  for (size_t i = 0; i < count; ++i) PutString(strings[i]);
}

void Encoder::PutDataArray(const pmix_data_array_t& array) {
  const size_t count = array.array == nullptr ? 0 : array.size;
  // Peers disagree on how an array without a type looks, so it goes out as an
  // empty array of infos.
  const pmix_data_type_t type = array.type == PMIX_UNDEF
                                    ? static_cast<pmix_data_type_t>(PMIX_INFO)
                                    : array.type;
  if (CarriedType(form_, type) == nullptr) return Fail(kErrUnknownDataType);
  PutType(type);
  if (array.type == PMIX_UNDEF) return PutSize(0);
  if (depth_ >= kMaxNesting) return Fail(kErrPackFailure);
  ++depth_;
  PutSize(count);
  PutElements(type, array.array, count);
  --depth_;
}

void Encoder::PutCpuset(const pmix_cpuset_t& cpuset) {
  if (cpuset.bitmap == nullptr) return PutNullString();
  const auto text = CpusetText(cpuset);
  if (!text) return Fail(kErrNotSupported);
  PutString(*text);
}

void Encoder::PutRegex(const pmix_byte_object_t& regex) {
  if (regex.bytes == nullptr) return Fail(kErrBadParam);
  const std::string_view bytes(regex.bytes, regex.size);
  if (MeasureRegex(bytes) != bytes.size()) return Fail(kErrBadParam);
  PutRaw(bytes);
}

void Encoder::PutField(const Field& field, const void* element) {
  const uint16_t offset = field.offset;
  switch (field.shape) {
    case Shape::kBool:
    case Shape::kByte:
    case Shape::kInt8:
      return PutByte(At<uint8_t>(element, offset));
    case Shape::kInt16:
      return PutInt16(At<int16_t>(element, offset));
    case Shape::kInt32:
      return PutInt32(At<int32_t>(element, offset));
    case Shape::kInt64:
      return PutInt64(At<int64_t>(element, offset));
    case Shape::kUint16:
      return PutUint16(At<uint16_t>(element, offset));
    case Shape::kUint32:
      return PutUint32(At<uint32_t>(element, offset));
    case Shape::kUint64:
    case Shape::kTime:
      return PutUint64(At<uint64_t>(element, offset));
    case Shape::kInt:
    case Shape::kUint:
      return PutInt(At<int32_t>(element, offset));
    case Shape::kSize:
      return PutSize(At<size_t>(element, offset));
    case Shape::kPid:
      return PutPid(At<pid_t>(element, offset));
    case Shape::kFloat:
      return PutFloat(At<float>(element, offset));
    case Shape::kDouble:
      return PutDouble(At<double>(element, offset));
    case Shape::kTimeval:
      PutInt64(At<timeval>(element, offset).tv_sec);
      return PutInt64(At<timeval>(element, offset).tv_usec);
    case Shape::kPointer:
      return PutByte(1);
    case Shape::kString:
      return PutCString(At<const char*>(element, offset));
    case Shape::kName:
      return PutString(LoadName(&At<char>(element, offset), field.extent));
    case Shape::kStrings:
      return PutStrings(field.count, At<char**>(element, offset));
    case Shape::kBytes: {
      const auto& bytes = At<pmix_byte_object_t>(element, offset);
      if (bytes.bytes == nullptr) return PutSize(0);
      return PutBytes({bytes.bytes, bytes.size});
    }
    case Shape::kRegex:
      return PutRegex(At<pmix_byte_object_t>(element, offset));
    case Shape::kBuffer: {
      const auto& buffer = At<pmix_data_buffer_t>(element, offset);
      if (buffer.base_ptr == nullptr) return PutSize(0);
      return PutBytes({buffer.base_ptr, buffer.bytes_used});
    }
    case Shape::kValue:
      return PutValue(At<pmix_value_t>(element, offset));
    case Shape::kDataArray:
      return PutDataArray(At<pmix_data_array_t>(element, offset));
    case Shape::kStruct:
      return PutFields(*FindType(field.element), &At<char>(element, offset));
    case Shape::kList: {
      const void* list = At<const void*>(element, offset);
      const size_t count =
          list == nullptr ? 0 : At<size_t>(element, field.extent);
      PutCount(field.count, count);
      return PutElements(field.element, list, count);
    }
    case Shape::kCpuset:
      return PutCpuset(At<pmix_cpuset_t>(element, offset));
    case Shape::kTopology:
      return Fail(kErrUnknownDataType);
  }
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

void Encoder::PackInt32(int32_t v) {
  BeginCall(PMIX_INT32, 1);
  PutInt32(v);
}

void Encoder::PackUint16(uint16_t v) {
  BeginCall(PMIX_UINT16, 1);
  PutUint16(v);
}

void Encoder::PackUint32(uint32_t v) {
  BeginCall(PMIX_UINT32, 1);
  PutUint32(v);
}

void Encoder::PackUint64(uint64_t v) {
  BeginCall(PMIX_UINT64, 1);
  PutUint64(v);
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

void Encoder::PackNullString() {
  BeginCall(PMIX_STRING, 1);
  PutNullString();
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

void Encoder::PackBuffer(std::string_view payload) {
  BeginCall(kBufferType, 1);
  PutByte(form_.described ? 2 : 1);
  PutBytes(payload);
}

void Encoder::PackValue(const pmix_value_t& v) {
  BeginCall(PMIX_VALUE, 1);
  PutValue(v);
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
