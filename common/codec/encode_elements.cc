// The part of Encoder that walks C elements.
#include <sys/time.h>

#include <climits>

#include "common/codec/encoder.h"
#include "common/values/hwloc_access.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {

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
    // An address has no meaning in another process, so one byte stands for all
    // addresses.
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
  // Peers disagree on the encoding of an array without a type, so it is sent as
  // an empty array of infos.
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

}  // namespace canopy
