// Functions that print structures and whole elements as text.
#include <string>

#include "client/abi/c_text.h"
#include "common/values/element_ops.h"
#include "common/values/print.h"
#include "pmix.h"

namespace {

constexpr char kNoPrefix[] = " ";

char* Text(pmix_data_type_t type, const void* element) {
  if (element == nullptr) return nullptr;
  return canopy::client::CopyToC(
      canopy::PrintElement(type, element, kNoPrefix));
}

}  // namespace

extern "C" {

char* PMIx_Value_string(const pmix_value_t* value) {
  return Text(PMIX_VALUE, value);
}

char* PMIx_Info_string(const pmix_info_t* info) {
  return Text(PMIX_INFO, info);
}

char* PMIx_App_string(const pmix_app_t* app) { return Text(PMIX_APP, app); }

// Strings and regexes are passed as the characters themselves.
pmix_status_t PMIx_Data_print(char** output, char* prefix, void* src,
                              pmix_data_type_t type) {
  if (output == nullptr) return PMIX_ERR_BAD_PARAM;
  *output = nullptr;
  const canopy::TypeInfo* info = canopy::FindType(type);
  if (info == nullptr || info->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  const pmix_byte_object_t characters = {static_cast<char*>(src), 0};
  const bool is_text = type == PMIX_STRING || type == PMIX_REGEX;
  *output = canopy::client::CopyToC(canopy::PrintElement(
      type, is_text ? static_cast<const void*>(&characters) : src,
      prefix == nullptr ? kNoPrefix : prefix));
  return *output == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

}  // extern "C"
