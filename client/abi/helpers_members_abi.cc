// Functions that fill the members of structures: load, transfer, and arrays.
#include <cstdlib>
#include <cstring>

#include "client/abi/c_text.h"
#include "common/status.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"
#include "pmix.h"

namespace {

using canopy::FindType;
using canopy::StoreName;

char* CopyOrNull(const char* text) {
  return text == nullptr ? nullptr : canopy::client::CopyToC(text);
}

const char* OrEmpty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

extern "C" {

void PMIx_App_info_create(pmix_app_t* p, size_t n) {
  p->info = canopy::NewInfos(n);
  p->ninfo = p->info == nullptr ? 0 : n;
}

void PMIx_Query_qualifiers_create(pmix_query_t* p, size_t n) {
  p->qualifiers = canopy::NewInfos(n);
  p->nqual = p->qualifiers == nullptr ? 0 : n;
}

void PMIx_Byte_object_load(pmix_byte_object_t* b, char* d, size_t sz) {
  b->bytes = d;
  b->size = sz;
}

void PMIx_Envar_load(pmix_envar_t* e, char* var, char* value, char separator) {
  e->envar = CopyOrNull(var);
  e->value = CopyOrNull(value);
  e->separator = separator;
}

void PMIx_Pdata_load(pmix_pdata_t* dest, const pmix_proc_t* p, const char* key,
                     const void* data, pmix_data_type_t type) {
  if (dest == nullptr) return;
  *dest = {};
  if (p != nullptr) dest->proc = *p;
  StoreName(dest->key, sizeof(dest->key), OrEmpty(key));
  (void)canopy::LoadValue(&dest->value, data, type);
}

void PMIx_Pdata_xfer(pmix_pdata_t* dest, pmix_pdata_t* src) {
  if (dest == nullptr || src == nullptr) return;
  (void)canopy::CopyElement(*FindType(PMIX_PDATA), dest, src);
}

void PMIx_Regattr_load(pmix_regattr_t* info, const char* name, const char* key,
                       pmix_data_type_t type, const char* description) {
  *info = {};
  info->name = CopyOrNull(name);
  StoreName(info->string, sizeof(info->string), OrEmpty(key));
  info->type = type;
  if (description != nullptr) {
    (void)pmix_argv_append_nosize(&info->description, description);
  }
}

void PMIx_Regattr_xfer(pmix_regattr_t* dest, const pmix_regattr_t* src) {
  (void)canopy::CopyElement(*FindType(PMIX_REGATTR), dest, src);
}

void PMIx_Data_array_init(pmix_data_array_t* p, pmix_data_type_t type) {
  *p = {};
  p->type = type;
}

void PMIx_Data_array_construct(pmix_data_array_t* p, size_t num,
                               pmix_data_type_t type) {
  (void)canopy::ConstructDataArray(p, num, type);
}

void PMIx_Data_array_destruct(pmix_data_array_t* d) {
  if (d != nullptr) canopy::DestructDataArray(d);
}

pmix_data_array_t* PMIx_Data_array_create(size_t n, pmix_data_type_t type) {
  auto* array =
      static_cast<pmix_data_array_t*>(calloc(1, sizeof(pmix_data_array_t)));
  if (array == nullptr) return nullptr;
  if (canopy::ConstructDataArray(array, n, type) != canopy::kSuccess) {
    free(array);
    return nullptr;
  }
  return array;
}

void PMIx_Data_array_free(pmix_data_array_t* p) {
  PMIx_Data_array_destruct(p);
  free(p);
}

}  // extern "C"
