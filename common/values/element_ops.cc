#include "common/values/element_ops.h"

#include <sys/time.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "common/status.h"
#include "common/values/hwloc_access.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

// Returns the bytes that a member occupies in its element, for members that are
// copied as plain memory.
size_t FlatSize(const Field& field) {
  switch (field.shape) {
    case Shape::kBool:
    case Shape::kByte:
    case Shape::kInt8:
      return 1;
    case Shape::kInt16:
    case Shape::kUint16:
      return 2;
    case Shape::kInt32:
    case Shape::kUint32:
    case Shape::kInt:
    case Shape::kUint:
    case Shape::kPid:
    case Shape::kFloat:
      return 4;
    case Shape::kTimeval:
      return sizeof(timeval);
    case Shape::kName:
      return field.extent;
    default:
      return 8;
  }
}

void FreeStrings(char** strings) {
  if (strings == nullptr) return;
  for (char** s = strings; *s != nullptr; ++s) free(*s);
  free(strings);
}

void DestructField(const Field& field, void* element) {
  switch (field.shape) {
    case Shape::kString:
      free(At<char*>(element, field.offset));
      break;
    case Shape::kStrings:
      FreeStrings(At<char**>(element, field.offset));
      break;
    case Shape::kBytes:
    case Shape::kRegex:
      free(At<pmix_byte_object_t>(element, field.offset).bytes);
      break;
    case Shape::kBuffer:
      free(At<pmix_data_buffer_t>(element, field.offset).base_ptr);
      break;
    case Shape::kValue:
      DestructValue(&At<pmix_value_t>(element, field.offset));
      break;
    case Shape::kDataArray:
      DestructDataArray(&At<pmix_data_array_t>(element, field.offset));
      break;
    case Shape::kStruct:
      DestructElement(*FindType(field.element),
                      &At<char>(element, field.offset));
      break;
    case Shape::kList:
      FreeElements(*FindType(field.element), At<void*>(element, field.offset),
                   At<size_t>(element, field.extent));
      break;
    case Shape::kCpuset:
      DestructCpuset(&At<pmix_cpuset_t>(element, field.offset));
      break;
    case Shape::kTopology:
      DestructTopology(&At<pmix_topology_t>(element, field.offset));
      break;
    default:
      break;
  }
}

int CopyBytes(char** to, const char* from, size_t size) {
  if (from == nullptr) return kSuccess;
  *to = static_cast<char*>(AllocateZeroed(size, 1));
  if (*to == nullptr) return kErrNomem;
  memcpy(*to, from, size);
  return kSuccess;
}

int CopyStrings(char*** to, char* const* from) {
  if (from == nullptr) return kSuccess;
  size_t count = 0;
  while (from[count] != nullptr) ++count;
  *to = static_cast<char**>(AllocateZeroed(count + 1, sizeof(char*)));
  if (*to == nullptr) return kErrNomem;
  for (size_t i = 0; i < count; ++i) {
    (*to)[i] = DuplicateString(from[i]);
    if ((*to)[i] == nullptr) return kErrNomem;
  }
  return kSuccess;
}

int CopyBuffer(pmix_data_buffer_t* to, const pmix_data_buffer_t& from) {
  if (from.base_ptr == nullptr) return kSuccess;
  const int code = CopyBytes(&to->base_ptr, from.base_ptr, from.bytes_used);
  if (code != kSuccess) return code;
  to->bytes_allocated = to->bytes_used = from.bytes_used;
  to->pack_ptr = to->base_ptr + from.bytes_used;
  to->unpack_ptr = to->base_ptr + (from.unpack_ptr - from.base_ptr);
  return kSuccess;
}

// Copies a list of elements. The caller owns `*elements` even if this fails
// half-way.
int CopyElements(const TypeInfo& type, void** elements, const void* from,
                 size_t count, int depth) {
  if (from == nullptr) return kSuccess;
  *elements = AllocateZeroed(count, type.size);
  if (*elements == nullptr) return kErrNomem;
  for (size_t i = 0; i < count; ++i) {
    const int code = CopyElement(type, &At<char>(*elements, i * type.size),
                                 &At<char>(from, i * type.size), depth);
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

int CopyList(const Field& field, void* to, const void* from, int depth) {
  const size_t count = At<size_t>(from, field.extent);
  const int code =
      CopyElements(*FindType(field.element), &At<void*>(to, field.offset),
                   At<const void*>(from, field.offset), count, depth);
  // Elements past a failure are still all zeros, so the whole list can be
  // freed.
  if (At<void*>(to, field.offset) != nullptr) {
    At<size_t>(to, field.extent) = count;
  }
  return code;
}

int CopyDataArray(pmix_data_array_t* to, const pmix_data_array_t& from,
                  int depth) {
  if (depth >= kMaxNesting) return kErrBadParam;
  to->type = from.type;
  const TypeInfo* type = FindType(from.type);
  if (type == nullptr) return kErrBadParam;
  if (type->size == 0 || from.size == 0) return kSuccess;
  const int code =
      CopyElements(*type, &to->array, from.array, from.size, depth + 1);
  if (to->array != nullptr) to->size = from.size;
  return code;
}

int CopyField(const Field& field, void* to, const void* from, int depth) {
  const uint16_t offset = field.offset;
  switch (field.shape) {
    case Shape::kString: {
      const char* text = At<const char*>(from, offset);
      return text == nullptr
                 ? static_cast<int>(kSuccess)
                 : CopyBytes(&At<char*>(to, offset), text, strlen(text) + 1);
    }
    case Shape::kStrings:
      return CopyStrings(&At<char**>(to, offset), At<char**>(from, offset));
    case Shape::kBytes:
    case Shape::kRegex: {
      const auto& bytes = At<pmix_byte_object_t>(from, offset);
      if (bytes.bytes == nullptr) return kSuccess;
      At<pmix_byte_object_t>(to, offset).size = bytes.size;
      return CopyBytes(&At<pmix_byte_object_t>(to, offset).bytes, bytes.bytes,
                       bytes.size);
    }
    case Shape::kBuffer:
      return CopyBuffer(&At<pmix_data_buffer_t>(to, offset),
                        At<pmix_data_buffer_t>(from, offset));
    case Shape::kValue:
      return CopyValue(&At<pmix_value_t>(to, offset),
                       At<pmix_value_t>(from, offset), depth);
    case Shape::kDataArray:
      return CopyDataArray(&At<pmix_data_array_t>(to, offset),
                           At<pmix_data_array_t>(from, offset), depth);
    case Shape::kStruct:
      return CopyElement(*FindType(field.element), &At<char>(to, offset),
                         &At<char>(from, offset), depth);
    case Shape::kList:
      return CopyList(field, to, from, depth);
    case Shape::kCpuset:
      return CopyCpuset(&At<pmix_cpuset_t>(to, offset),
                        At<pmix_cpuset_t>(from, offset));
    case Shape::kTopology:
      return CopyTopology(&At<pmix_topology_t>(to, offset),
                          At<pmix_topology_t>(from, offset));
    default:
      memcpy(&At<char>(to, offset), &At<char>(from, offset), FlatSize(field));
      return kSuccess;
  }
}

pmix_info_directives_t* InfoFlags(const TypeInfo& type, void* element) {
  return &type == FindType(PMIX_INFO)
             ? &static_cast<pmix_info_t*>(element)->flags
             : nullptr;
}

size_t OwnedByField(const Field& field, const void* element, int depth) {
  const uint16_t offset = field.offset;
  switch (field.shape) {
    case Shape::kString: {
      const char* text = At<const char*>(element, offset);
      return text == nullptr ? 0 : strlen(text) + 1;
    }
    case Shape::kStrings: {
      char* const* strings = At<char**>(element, offset);
      if (strings == nullptr) return 0;
      size_t total = sizeof(char*);
      for (; *strings != nullptr; ++strings) {
        total += sizeof(char*) + strlen(*strings) + 1;
      }
      return total;
    }
    case Shape::kBytes:
    case Shape::kRegex:
      return At<pmix_byte_object_t>(element, offset).size;
    case Shape::kBuffer:
      return At<pmix_data_buffer_t>(element, offset).bytes_used;
    case Shape::kValue: {
      const auto& value = At<pmix_value_t>(element, offset);
      const TypeInfo* type = FindType(value.type);
      const void* inner =
          type == nullptr ? nullptr : ValueElement(*type, value);
      if (inner == nullptr || depth > kMaxNesting) return 0;
      return (type->indirect ? type->size : 0) +
             OwnedBytes(*type, inner, depth + 1);
    }
    case Shape::kDataArray: {
      const auto& array = At<pmix_data_array_t>(element, offset);
      const TypeInfo* type = FindType(array.type);
      if (type == nullptr || array.array == nullptr || depth > kMaxNesting) {
        return 0;
      }
      size_t total = array.size * type->size;
      for (size_t i = 0; i < array.size; ++i) {
        total += OwnedBytes(*type, &At<char>(array.array, i * type->size),
                            depth + 1);
      }
      return total;
    }
    case Shape::kStruct:
      return OwnedBytes(*FindType(field.element), &At<char>(element, offset),
                        depth);
    case Shape::kList: {
      const TypeInfo& type = *FindType(field.element);
      const void* list = At<const void*>(element, offset);
      if (list == nullptr) return 0;
      const size_t count = At<size_t>(element, field.extent);
      size_t total = count * type.size;
      for (size_t i = 0; i < count; ++i) {
        total += OwnedBytes(type, &At<char>(list, i * type.size), depth);
      }
      return total;
    }
    default:
      return 0;
  }
}

}  // namespace

void ConstructElement(const TypeInfo& type, void* element) {
  memset(element, 0, type.size);
  if (&type == FindType(PMIX_DEVICE_DIST)) {
    auto* distance = static_cast<pmix_device_distance_t*>(element);
    distance->mindist = distance->maxdist = UINT16_MAX;
  }
}

void DestructElement(const TypeInfo& type, void* element) {
  const pmix_info_directives_t* flags = InfoFlags(type, element);
  if (flags == nullptr || (*flags & PMIX_INFO_PERSISTENT) == 0) {
    for (const Field& field : type) DestructField(field, element);
  }
  memset(element, 0, type.size);
}

int CopyElement(const TypeInfo& type, void* to, const void* from, int depth) {
  memset(to, 0, type.size);
  if (depth > kMaxNesting) return kErrBadParam;
  for (const Field& field : type) {
    const int code = CopyField(field, to, from, depth);
    if (code != kSuccess) {
      if (auto* flags = InfoFlags(type, to)) *flags = 0;
      DestructElement(type, to);
      return code;
    }
  }
  if (auto* flags = InfoFlags(type, to)) *flags &= ~PMIX_INFO_PERSISTENT;
  return kSuccess;
}

size_t OwnedBytes(const TypeInfo& type, const void* element, int depth) {
  size_t total = 0;
  for (const Field& field : type) {
    total += OwnedByField(field, element, depth);
  }
  return total;
}

void* NewElements(const TypeInfo& type, size_t count) {
  void* elements = AllocateZeroed(count, type.size);
  if (elements == nullptr) return nullptr;
  if (&type == FindType(PMIX_DEVICE_DIST)) {
    for (size_t i = 0; i < count; ++i) {
      ConstructElement(type, &At<char>(elements, i * type.size));
    }
  }
  return elements;
}

void FreeElements(const TypeInfo& type, void* elements, size_t count) {
  if (elements == nullptr) return;
  if (!IsFlat(type)) {
    for (size_t i = 0; i < count; ++i) {
      DestructElement(type, &At<char>(elements, i * type.size));
    }
  }
  free(elements);
}

}  // namespace canopy
