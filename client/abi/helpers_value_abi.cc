// Values: loading, copying, comparing, converting.
#include "common/status.h"
#include "common/values/number.h"
#include "common/values/value_ops.h"
#include "pmix.h"

extern "C" {

pmix_status_t PMIx_Value_load(pmix_value_t* val, const void* data,
                              pmix_data_type_t type) {
  if (val == nullptr) return PMIX_ERR_BAD_PARAM;
  return canopy::LoadValue(val, data, type);
}

pmix_status_t PMIx_Value_unload(pmix_value_t* val, void** data, size_t* sz) {
  if (val == nullptr || data == nullptr || sz == nullptr) {
    return PMIX_ERR_BAD_PARAM;
  }
  return canopy::UnloadValue(*val, data, sz);
}

pmix_status_t PMIx_Value_xfer(pmix_value_t* dest, const pmix_value_t* src) {
  if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
  return canopy::CopyValue(dest, *src);
}

pmix_value_cmp_t PMIx_Value_compare(pmix_value_t* v1, pmix_value_t* v2) {
  if (v1 == nullptr || v2 == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  return canopy::CompareValues(*v1, *v2);
}

pmix_boolean_t PMIx_Value_true(const pmix_value_t* v) {
  return v == nullptr ? PMIX_BOOL_FALSE : canopy::ValueTruth(*v);
}

pmix_status_t PMIx_Value_get_size(const pmix_value_t* val, size_t* size) {
  if (val == nullptr || size == nullptr) return PMIX_ERR_BAD_PARAM;
  *size = 0;
  if (canopy::FindType(val->type) == nullptr) {
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
  }
  *size = canopy::ValueBytes(*val);
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Value_get_number(const pmix_value_t* value, void* dest,
                                    pmix_data_type_t type) {
  if (value == nullptr) return PMIX_ERR_BAD_PARAM;
  return canopy::StoreNumber(*value, type, dest);
}

}  // extern "C"
