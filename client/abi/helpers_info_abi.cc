// Infos: loading, copying, directives.
#include "common/status.h"
#include "common/values/value_ops.h"
#include "pmix.h"

namespace {

bool Has(const pmix_info_t* p, pmix_info_directives_t flag) {
  return (p->flags & flag) != 0;
}

}  // namespace

extern "C" {

void PMIx_Info_construct(pmix_info_t* p) {
  if (p != nullptr) *p = {};
}

void PMIx_Info_destruct(pmix_info_t* p) {
  if (p != nullptr) canopy::DestructInfo(p);
}

pmix_info_t* PMIx_Info_create(size_t n) { return canopy::NewInfos(n); }

void PMIx_Info_free(pmix_info_t* p, size_t n) { canopy::FreeInfos(p, n); }

pmix_status_t PMIx_Info_load(pmix_info_t* info, const char* key,
                             const void* data, pmix_data_type_t type) {
  if (info == nullptr) return PMIX_ERR_BAD_PARAM;
  return canopy::LoadInfo(info, key, data, type);
}

// The copy of a persistent info shares its value, and so stays persistent.
pmix_status_t PMIx_Info_xfer(pmix_info_t* dest, const pmix_info_t* src) {
  if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
  if (Has(src, PMIX_INFO_PERSISTENT)) {
    *dest = *src;
    return PMIX_SUCCESS;
  }
  return canopy::CopyInfo(dest, *src);
}

pmix_status_t PMIx_Info_get_size(const pmix_info_t* val, size_t* size) {
  if (val == nullptr || size == nullptr) return PMIX_ERR_BAD_PARAM;
  *size = 0;
  if (canopy::FindType(val->value.type) == nullptr) {
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
  }
  *size = sizeof(*val) - sizeof(val->value) + canopy::ValueBytes(val->value);
  return PMIX_SUCCESS;
}

pmix_boolean_t PMIx_Info_true(const pmix_info_t* p) {
  return canopy::ValueTruth(p->value);
}

bool PMIx_Info_is_end(const pmix_info_t* p) {
  return Has(p, PMIX_INFO_ARRAY_END);
}
bool PMIx_Info_is_optional(const pmix_info_t* p) {
  return !Has(p, PMIX_INFO_REQD);
}
bool PMIx_Info_is_required(const pmix_info_t* p) {
  return Has(p, PMIX_INFO_REQD);
}
bool PMIx_Info_is_persistent(const pmix_info_t* p) {
  return Has(p, PMIX_INFO_PERSISTENT);
}
bool PMIx_Info_is_qualifier(const pmix_info_t* p) {
  return Has(p, PMIX_INFO_QUALIFIER);
}
bool PMIx_Info_was_processed(const pmix_info_t* p) {
  return Has(p, PMIX_INFO_REQD_PROCESSED);
}

void PMIx_Info_optional(pmix_info_t* p) {
  p->flags &= ~static_cast<pmix_info_directives_t>(PMIX_INFO_REQD);
}
void PMIx_Info_required(pmix_info_t* p) { p->flags |= PMIX_INFO_REQD; }
void PMIx_Info_processed(pmix_info_t* p) {
  p->flags |= PMIX_INFO_REQD_PROCESSED;
}
void PMIx_Info_persistent(pmix_info_t* p) { p->flags |= PMIX_INFO_PERSISTENT; }
void PMIx_Info_qualifier(pmix_info_t* p) { p->flags |= PMIX_INFO_QUALIFIER; }
void PMIx_Info_set_end(pmix_info_t* p) { p->flags |= PMIX_INFO_ARRAY_END; }

}  // extern "C"
