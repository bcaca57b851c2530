#include "common/values/value_ops.h"

#include <strings.h>

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "common/status.h"
#include "common/values/memory.h"

namespace canopy {
namespace {

// Returns the element that the `data` of LoadValue stands for. Characters are
// passed directly, so the pointer to them is made here, in *characters.
const void* LoadedElement(pmix_data_type_t type, const void* data,
                          pmix_byte_object_t* characters) {
  if (type != PMIX_STRING && type != PMIX_REGEX) return data;
  characters->bytes = const_cast<char*>(static_cast<const char*>(data));
  if (type == PMIX_REGEX) characters->size = RegexLength(characters->bytes);
  return characters;
}

int LoadNothing(pmix_value_t* value, pmix_data_type_t type) {
  *value = {};
  value->type = type;
  if (type == PMIX_BOOL) value->data.flag = true;
  return kSuccess;
}

int UnloadCharacters(const char* bytes, size_t length, void** data,
                     size_t* size) {
  *data = nullptr;
  *size = 0;
  if (bytes == nullptr) return kSuccess;
  char* copy = DuplicateString({bytes, length});
  if (copy == nullptr) return kErrNomem;
  *data = copy;
  *size = length;
  return kSuccess;
}

int UnloadElement(const TypeInfo& type, const void* element, void** data,
                  size_t* size) {
  const bool flat = IsFlat(type);
  // Open MPI 5 unloads the number of process sets into a null pointer and reads
  // this error as zero sets; it would take the address of a number allocated
  // here for the count.
  if (flat && *data == nullptr) return kErrBadParam;
  void* copy = flat ? *data : AllocateZeroed(1, type.size);
  if (copy == nullptr) return kErrNomem;
  const int code = CopyElement(type, copy, element);
  if (code != kSuccess) {
    if (!flat) free(copy);
    return code;
  }
  *data = copy;
  *size = type.size;
  return kSuccess;
}

pmix_boolean_t TextTruth(const char* text) {
  while (isspace(static_cast<unsigned char>(*text))) ++text;
  if (*text == '\0') return PMIX_BOOL_TRUE;
  if (isdigit(static_cast<unsigned char>(*text))) {
    return strtol(text, nullptr, 10) == 0 ? PMIX_BOOL_FALSE : PMIX_BOOL_TRUE;
  }
  if (strncasecmp(text, "yes", 3) == 0 || strncasecmp(text, "true", 4) == 0) {
    return PMIX_BOOL_TRUE;
  }
  if (strncasecmp(text, "no", 2) == 0 || strncasecmp(text, "false", 5) == 0) {
    return PMIX_BOOL_FALSE;
  }
  return PMIX_NON_BOOL;
}

}  // namespace

const void* ValueElement(const TypeInfo& type, const pmix_value_t& value) {
  if (type.indirect) return value.data.ptr;
  return &value.data;
}

void* EmplaceValue(pmix_value_t* value, pmix_data_type_t id,
                   const TypeInfo& type) {
  *value = {};
  if (type.indirect) {
    value->data.ptr = AllocateZeroed(1, type.size);
    if (value->data.ptr == nullptr) return nullptr;
  }
  value->type = id;
  return type.indirect ? value->data.ptr : &value->data;
}

void DestructValue(pmix_value_t* value) {
  const TypeInfo* type = FindType(value->type);
  if (type != nullptr && type->indirect) {
    if (value->data.ptr != nullptr) DestructElement(*type, value->data.ptr);
    free(value->data.ptr);
  } else if (type != nullptr) {
    DestructElement(*type, &value->data);
  }
  *value = {};
}

int CopyValue(pmix_value_t* to, const pmix_value_t& from, int depth) {
  const TypeInfo* type = FindType(from.type);
  if (type == nullptr) {
    *to = {};
    return kErrUnknownDataType;
  }
  const void* source = ValueElement(*type, from);
  if (source == nullptr) return LoadNothing(to, from.type);
  void* element = EmplaceValue(to, from.type, *type);
  if (element == nullptr) return kErrNomem;
  const int code = CopyElement(*type, element, source, depth + 1);
  if (code != kSuccess) {
    DestructValue(to);
    return code;
  }
  return kSuccess;
}

int LoadValue(pmix_value_t* value, const void* data, pmix_data_type_t id) {
  *value = {};
  const TypeInfo* type = FindType(id);
  if (type == nullptr) return kErrUnknownDataType;
  if (data == nullptr || id == PMIX_UNDEF) return LoadNothing(value, id);
  void* element = EmplaceValue(value, id, *type);
  if (element == nullptr) return kErrNomem;
  if (id == PMIX_POINTER) {
    value->data.ptr = const_cast<void*>(data);
    return kSuccess;
  }
  pmix_byte_object_t characters = {};
  const int code =
      CopyElement(*type, element, LoadedElement(id, data, &characters), 1);
  if (code != kSuccess) {
    DestructValue(value);
    return code;
  }
  return kSuccess;
}

int UnloadValue(const pmix_value_t& value, void** data, size_t* size) {
  const TypeInfo* type = FindType(value.type);
  if (type == nullptr) return kErrUnknownDataType;
  if (type->size == 0) return kErrBadParam;
  switch (value.type) {
    case PMIX_STRING:
      return UnloadCharacters(
          value.data.string,
          value.data.string == nullptr ? 0 : strlen(value.data.string), data,
          size);
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_STRING:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_REGEX:
      return UnloadCharacters(value.data.bo.bytes, value.data.bo.size, data,
                              size);
    case PMIX_POINTER:
      *data = value.data.ptr;
      *size = sizeof(void*);
      return kSuccess;
    default:
      break;
  }
  const void* element = ValueElement(*type, value);
  if (element == nullptr) return kErrNotFound;
  return UnloadElement(*type, element, data, size);
}

size_t ValueBytes(const pmix_value_t& value) {
  return sizeof(value) + OwnedBytes(*FindType(PMIX_VALUE), &value);
}

pmix_boolean_t ValueTruth(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_UNDEF:
      return PMIX_BOOL_TRUE;
    case PMIX_BOOL:
      return value.data.flag ? PMIX_BOOL_TRUE : PMIX_BOOL_FALSE;
    case PMIX_STRING:
      return value.data.string == nullptr ? PMIX_BOOL_TRUE
                                          : TextTruth(value.data.string);
    default:
      return PMIX_NON_BOOL;
  }
}

int LoadInfo(pmix_info_t* info, const char* key, const void* data,
             pmix_data_type_t type) {
  *info = {};
  if (key == nullptr || strlen(key) >= sizeof(info->key)) {
    return kErrBadParam;
  }
  const int code = LoadValue(&info->value, data, type);
  if (code == kSuccess) StoreName(info->key, sizeof(info->key), key);
  return code;
}

int CopyInfo(pmix_info_t* to, const pmix_info_t& from) {
  return CopyElement(*FindType(PMIX_INFO), to, &from);
}

void DestructInfo(pmix_info_t* info) {
  DestructElement(*FindType(PMIX_INFO), info);
}

pmix_info_t* NewInfos(size_t count) {
  if (count == 0) return nullptr;
  auto* infos =
      static_cast<pmix_info_t*>(AllocateZeroed(count, sizeof(pmix_info_t)));
  if (infos != nullptr) infos[count - 1].flags = PMIX_INFO_ARRAY_END;
  return infos;
}

void FreeInfos(pmix_info_t* infos, size_t count) {
  FreeElements(*FindType(PMIX_INFO), infos, count);
}

int ConstructDataArray(pmix_data_array_t* array, size_t count,
                       pmix_data_type_t id) {
  *array = {};
  array->type = id;
  const TypeInfo* type = FindType(id);
  if (count == 0) return kSuccess;
  if (type == nullptr || type->size == 0) return kErrUnknownDataType;
  array->array = NewElements(*type, count);
  if (array->array == nullptr) return kErrNomem;
  array->size = count;
  return kSuccess;
}

void DestructDataArray(pmix_data_array_t* array) {
  const TypeInfo* type = FindType(array->type);
  if (type == nullptr) {
    free(array->array);
  } else {
    FreeElements(*type, array->array, array->size);
  }
  *array = {};
}

}  // namespace canopy
