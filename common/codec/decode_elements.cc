// The part of Decoder that builds C elements.
#include <sys/time.h>

#include <cstring>

#include "common/codec/decoder.h"
#include "common/values/hwloc_access.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {

bool Decoder::GetValue(pmix_value_t* v) {
  *v = {};
  uint16_t id = 0;
  if (!GetUint16(&id)) return false;
  const TypeInfo* type = Carried(id);
  if (type == nullptr) return false;
  if (depth_ >= kMaxNesting) return Fail(kErrUnpackFailure);
  if (type->indirect && !Reserve(1, type->size)) return false;
  void* element = EmplaceValue(v, id, *type);
  if (element == nullptr) return Fail(kErrNomem);
  ++depth_;
  const bool read = GetFields(*type, element);
  --depth_;
  if (!read) {
    DestructValue(v);
    return false;
  }
  return true;
}

bool Decoder::GetValue(Value* v) {
  *v = Value();
  return GetValue(v->mutable_raw());
}

bool Decoder::GetInfo(pmix_info_t* v) { return GetElement(PMIX_INFO, v); }

bool Decoder::GetElement(pmix_data_type_t id, void* element) {
  const TypeInfo* type = Carried(id);
  if (type == nullptr) return false;
  if (type->size == 0) return Fail(kErrUnknownDataType);
  memset(element, 0, type->size);
  if (GetFields(*type, element)) return true;
  DestructElement(*type, element);
  return false;
}

bool Decoder::GetFields(const TypeInfo& type, void* element) {
  for (const Field& field : type) {
    if (field.on_wire && !GetField(field, element)) return false;
  }
  if (&type == FindType(PMIX_INFO)) {
    // The decoded info owns its content, even if the sender's info was
    // persistent.
    static_cast<pmix_info_t*>(element)->flags &=
        ~static_cast<pmix_info_directives_t>(PMIX_INFO_PERSISTENT);
  }
  return ok();
}

bool Decoder::GetNumber(const Field& field, void* element) {
  const uint16_t offset = field.offset;
  switch (field.shape) {
    case Shape::kBool:
      return GetBool(&At<bool>(element, offset));
    case Shape::kByte:
    case Shape::kInt8:
      return GetByte(&At<uint8_t>(element, offset));
    case Shape::kInt16:
      return GetInt16(&At<int16_t>(element, offset));
    case Shape::kInt32:
      return GetInt32(&At<int32_t>(element, offset));
    case Shape::kInt64:
      return GetInt64(&At<int64_t>(element, offset));
    case Shape::kUint16:
      return GetUint16(&At<uint16_t>(element, offset));
    case Shape::kUint32:
      return GetUint32(&At<uint32_t>(element, offset));
    case Shape::kUint64:
    case Shape::kTime:
      return GetUint64(&At<uint64_t>(element, offset));
    case Shape::kInt:
    case Shape::kUint:
      return GetInt(&At<int32_t>(element, offset));
    case Shape::kSize:
      return GetSize(&At<size_t>(element, offset));
    case Shape::kPid:
      return GetPid(&At<pid_t>(element, offset));
    case Shape::kFloat:
      return GetFloat(&At<float>(element, offset));
    default:
      return GetDouble(&At<double>(element, offset));
  }
}

bool Decoder::GetField(const Field& field, void* element) {
  const uint16_t offset = field.offset;
  switch (field.shape) {
    case Shape::kTimeval: {
      int64_t seconds = 0, microseconds = 0;
      if (!GetInt64(&seconds) || !GetInt64(&microseconds)) return false;
      At<timeval>(element, offset) = {seconds, microseconds};
      return true;
    }
    case Shape::kPointer: {
      uint8_t mark = 0;
      return GetByte(&mark);
    }
    case Shape::kName:
      return GetName(&At<char>(element, offset), field.extent);
    case Shape::kStruct:
      return GetFields(*FindType(field.element), &At<char>(element, offset));
    case Shape::kValue:
      return GetValue(&At<pmix_value_t>(element, offset));
    case Shape::kDataArray:
      return GetDataArray(&At<pmix_data_array_t>(element, offset));
    case Shape::kList:
      return GetList(field, element);
    case Shape::kString:
    case Shape::kStrings:
    case Shape::kBytes:
    case Shape::kRegex:
    case Shape::kBuffer:
    case Shape::kCpuset:
    case Shape::kTopology:
      return GetOwned(field, element);
    default:
      return GetNumber(field, element);
  }
}

bool Decoder::GetOwned(const Field& field, void* element) {
  const uint16_t offset = field.offset;
  switch (field.shape) {
    case Shape::kString:
      return GetCString(&At<char*>(element, offset));
    case Shape::kStrings:
      return GetStrings(field.count, &At<char**>(element, offset));
    case Shape::kBytes:
      return GetByteObject(&At<pmix_byte_object_t>(element, offset));
    case Shape::kRegex:
      return GetRegex(&At<pmix_byte_object_t>(element, offset));
    case Shape::kBuffer:
      return GetDataBuffer(&At<pmix_data_buffer_t>(element, offset));
    case Shape::kCpuset:
      return GetCpuset(&At<pmix_cpuset_t>(element, offset));
    default:
      return Fail(kErrUnknownDataType);
  }
}

bool Decoder::GetCString(char** v) {
  std::string_view text;
  bool is_null = false;
  if (!GetString(&text, &is_null)) return false;
  if (is_null) return true;
  if (!Reserve(1, text.size() + 1)) return false;
  *v = DuplicateString(text);
  return *v != nullptr || Fail(kErrNomem);
}

bool Decoder::GetName(char* name, size_t capacity) {
  std::string_view text;
  if (!GetString(&text)) return false;
  if (text.size() >= capacity) return Fail(kErrUnpackFailure);
  StoreName(name, capacity, text);
  return true;
}

bool Decoder::GetStrings(CountForm form, char*** v) {
  size_t count = 0;
  if (!GetCount(form, &count)) return false;
  if (count == 0) return true;
  if (count > in_.size()) return Fail(kErrUnpackReadPastEnd);
  if (!Reserve(count + 1, sizeof(char*))) return false;
  *v = static_cast<char**>(AllocateZeroed(count + 1, sizeof(char*)));
  if (*v == nullptr) return Fail(kErrNomem);
  for (size_t i = 0; i < count; ++i) {
    if (!GetCString(&(*v)[i])) return false;
    // The list ends at its first null pointer, so a missing string would hide
    // the strings after it.
    if ((*v)[i] == nullptr) return Fail(kErrUnpackFailure);
  }
  return true;
}

bool Decoder::GetByteObject(pmix_byte_object_t* v) {
  std::string_view bytes;
  return GetBytes(&bytes) && StoreBytes(bytes, v);
}

bool Decoder::StoreBytes(std::string_view bytes, pmix_byte_object_t* v) {
  if (bytes.empty()) return true;
  if (!Reserve(1, bytes.size())) return false;
  v->bytes = static_cast<char*>(AllocateZeroed(bytes.size(), 1));
  if (v->bytes == nullptr) return Fail(kErrNomem);
  memcpy(v->bytes, bytes.data(), bytes.size());
  v->size = bytes.size();
  return true;
}

bool Decoder::RegexView(std::string_view* v) {
  const size_t size = MeasureRegex(in_);
  if (size == 0) return Fail(kErrUnpackFailure);
  return GetRaw(size, v);
}

bool Decoder::GetRegex(pmix_byte_object_t* v) {
  std::string_view regex;
  return RegexView(&regex) && StoreBytes(regex, v);
}

bool Decoder::GetDataBuffer(pmix_data_buffer_t* v) {
  pmix_byte_object_t bytes = {};
  if (!GetByteObject(&bytes)) return false;
  v->base_ptr = v->unpack_ptr = bytes.bytes;
  v->bytes_allocated = v->bytes_used = bytes.size;
  v->pack_ptr = bytes.bytes == nullptr ? nullptr : bytes.bytes + bytes.size;
  return true;
}

bool Decoder::GetCpuset(pmix_cpuset_t* v) {
  std::string_view text;
  bool is_null = false;
  if (!GetString(&text, &is_null)) return false;
  if (is_null) return true;
  const int code = ParseCpuset(v, text.data());
  return code == kSuccess ||
         Fail(code == kErrBadParam ? static_cast<int>(kErrUnpackFailure)
                                   : code);
}

bool Decoder::GetArrayHead(pmix_data_type_t* type, size_t* count) {
  *count = 0;
  if (!GetUint16(type)) return false;
  if (*type != PMIX_UNDEF) return GetSize(count);
  if (form_.undef_array_has_size && !GetSize(count)) return false;
  return *count == 0 || Fail(kErrUnpackFailure);
}

bool Decoder::GetDataArray(pmix_data_array_t* v) {
  size_t count = 0;
  if (!GetArrayHead(&v->type, &count)) return false;
  if (depth_ >= kMaxNesting) return Fail(kErrUnpackFailure);
  if (Carried(v->type) == nullptr) return false;
  if (count == 0) return true;
  ++depth_;
  const bool read = GetElements(v->type, count, &v->array);
  --depth_;
  // Elements that were not read are zeros and can be freed like others.
  if (v->array != nullptr) v->size = count;
  return read;
}

bool Decoder::GetList(const Field& field, void* element) {
  size_t count = 0;
  if (!GetCount(field.count, &count)) return false;
  if (count == 0) return true;
  void** list = &At<void*>(element, field.offset);
  const bool read = GetElements(field.element, count, list);
  if (*list != nullptr) At<size_t>(element, field.extent) = count;
  return read;
}

bool Decoder::GetElements(pmix_data_type_t id, size_t count, void** elements) {
  const TypeInfo* type = Carried(id);
  if (type == nullptr || !CheckCount(id, *type, count) ||
      !Reserve(count, type->size)) {
    return false;
  }
  *elements = AllocateZeroed(count, type->size);
  if (*elements == nullptr) return Fail(kErrNomem);
  if (id == PMIX_POINTER) {
    uint8_t mark = 0;
    return GetByte(&mark);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!GetFields(*type, &At<char>(*elements, i * type->size))) return false;
  }
  return true;
}

bool Decoder::UnpackElements(pmix_data_type_t id, size_t room, void* elements,
                             size_t* count) {
  *count = 0;
  size_t there = 0;
  if (!UnpackCount(id, &there)) return false;
  const TypeInfo* type = Carried(id);
  if (type == nullptr || !CheckCount(id, *type, there)) return false;
  if (there > room) return Fail(kErrUnpackInadequateSpace);
  memset(elements, 0, there * type->size);
  if (id == PMIX_POINTER) {
    uint8_t mark = 0;
    if (there > 0 && !GetByte(&mark)) return false;
    *count = there;
    return true;
  }
  for (size_t i = 0; i < there; ++i) {
    if (GetElement(id, &At<char>(elements, i * type->size))) continue;
    while (i-- > 0) {
      DestructElement(*type, &At<char>(elements, i * type->size));
    }
    return false;
  }
  *count = there;
  return true;
}

}  // namespace canopy
