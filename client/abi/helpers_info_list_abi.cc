// Lists to which infos are added one by one, and which become arrays at the
// end. The handle is opaque to callers. Each node is allocated with calloc.
#include <cstdlib>
#include <cstring>

#include "common/status.h"
#include "common/values/value_ops.h"
#include "pmix.h"

namespace {

struct Node {
  pmix_info_t info;
  Node* next;
};

struct List {
  Node* first;
  Node* last;
  size_t size;
};

List* ListOf(void* handle) { return static_cast<List*>(handle); }

void Append(List* list, Node* node) {
  (list->last == nullptr ? list->first : list->last->next) = node;
  list->last = node;
  ++list->size;
}

void Prepend(List* list, Node* node) {
  node->next = list->first;
  list->first = node;
  if (list->last == nullptr) list->last = node;
  ++list->size;
}

// Returns the info with that key, or null.
pmix_info_t* Find(const List& list, const char* key) {
  for (Node* node = list.first; node != nullptr; node = node->next) {
    if (strncmp(node->info.key, key, PMIX_MAX_KEYLEN) == 0) return &node->info;
  }
  return nullptr;
}

using Place = void (*)(List*, Node*);

// Puts `info`, whose construction returned `code`, into a node of the list.
pmix_status_t Insert(List* list, int code, pmix_info_t* info, Place place) {
  if (code != PMIX_SUCCESS) return code;
  auto* node = static_cast<Node*>(calloc(1, sizeof(Node)));
  if (node == nullptr) {
    canopy::DestructInfo(info);
    return PMIX_ERR_NOMEM;
  }
  node->info = *info;
  place(list, node);
  return PMIX_SUCCESS;
}

// Inserts `info`. If the list already has its key, `info` replaces the old info
// if `overwrite` is set, and is refused if not.
pmix_status_t InsertUnique(List* list, int code, pmix_info_t* info,
                           bool overwrite) {
  pmix_info_t* old = code == PMIX_SUCCESS ? Find(*list, info->key) : nullptr;
  if (old == nullptr) return Insert(list, code, info, Append);
  if (!overwrite) {
    canopy::DestructInfo(info);
    return PMIX_ERR_EXISTS;
  }
  canopy::DestructInfo(old);
  *old = *info;
  return PMIX_SUCCESS;
}

int LoadCopy(pmix_info_t* info, const char* key, const pmix_value_t* value) {
  if (value == nullptr) return PMIX_ERR_BAD_PARAM;
  const int code = canopy::LoadInfo(info, key, nullptr, PMIX_UNDEF);
  return code == PMIX_SUCCESS ? canopy::CopyValue(&info->value, *value) : code;
}

}  // namespace

extern "C" {

void* PMIx_Info_list_start(void) { return calloc(1, sizeof(List)); }

void PMIx_Info_list_release(void* ptr) {
  if (ptr == nullptr) return;
  Node* node = ListOf(ptr)->first;
  while (node != nullptr) {
    Node* next = node->next;
    canopy::DestructInfo(&node->info);
    free(node);
    node = next;
  }
  free(ptr);
}

pmix_status_t PMIx_Info_list_add(void* ptr, const char* key, const void* value,
                                 pmix_data_type_t type) {
  if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t info;
  const int code = canopy::LoadInfo(&info, key, value, type);
  return Insert(ListOf(ptr), code, &info, Append);
}

pmix_status_t PMIx_Info_list_prepend(void* ptr, const char* key,
                                     const void* value, pmix_data_type_t type) {
  if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t info;
  const int code = canopy::LoadInfo(&info, key, value, type);
  return Insert(ListOf(ptr), code, &info, Prepend);
}

pmix_status_t PMIx_Info_list_add_unique(void* ptr, const char* key,
                                        const void* value,
                                        pmix_data_type_t type, bool overwrite) {
  if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t info;
  const int code = canopy::LoadInfo(&info, key, value, type);
  return InsertUnique(ListOf(ptr), code, &info, overwrite);
}

pmix_status_t PMIx_Info_list_add_value(void* ptr, const char* key,
                                       const pmix_value_t* value) {
  if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t info;
  const int code = LoadCopy(&info, key, value);
  return Insert(ListOf(ptr), code, &info, Append);
}

pmix_status_t PMIx_Info_list_add_value_unique(void* ptr, const char* key,
                                              const pmix_value_t* value,
                                              bool overwrite) {
  if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t info;
  const int code = LoadCopy(&info, key, value);
  return InsertUnique(ListOf(ptr), code, &info, overwrite);
}

// The list refers to the caller's value and never frees it.
pmix_status_t PMIx_Info_list_insert(void* ptr, pmix_info_t* info) {
  if (ptr == nullptr || info == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t shared = *info;
  shared.flags |= PMIX_INFO_PERSISTENT;
  return Insert(ListOf(ptr), PMIX_SUCCESS, &shared, Append);
}

pmix_status_t PMIx_Info_list_xfer(void* ptr, const pmix_info_t* info) {
  if (ptr == nullptr || info == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t copy;
  const int code = PMIx_Info_xfer(&copy, info);
  return Insert(ListOf(ptr), code, &copy, Append);
}

pmix_status_t PMIx_Info_list_xfer_unique(void* ptr, const pmix_info_t* info,
                                         bool overwrite) {
  if (ptr == nullptr || info == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_info_t copy;
  const int code = PMIx_Info_xfer(&copy, info);
  return InsertUnique(ListOf(ptr), code, &copy, overwrite);
}

pmix_status_t PMIx_Info_list_convert(void* ptr, pmix_data_array_t* par) {
  if (ptr == nullptr || par == nullptr) return PMIX_ERR_BAD_PARAM;
  const List& list = *ListOf(ptr);
  const int code = canopy::ConstructDataArray(par, list.size, PMIX_INFO);
  if (code != PMIX_SUCCESS) return code;
  if (list.size == 0) return PMIX_ERR_EMPTY;
  auto* infos = static_cast<pmix_info_t*>(par->array);
  for (Node* node = list.first; node != nullptr; node = node->next) {
    const int copied = PMIx_Info_xfer(infos++, &node->info);
    if (copied != PMIX_SUCCESS) {
      canopy::DestructDataArray(par);
      return copied;
    }
  }
  return PMIX_SUCCESS;
}

// Returns the next info. `prev` is null for the first info, otherwise the
// `next` of the previous call.
pmix_info_t* PMIx_Info_list_get_info(void* ptr, void* prev, void** next) {
  if (ptr == nullptr) return nullptr;
  Node* node = prev == nullptr ? ListOf(ptr)->first : static_cast<Node*>(prev);
  if (next != nullptr) *next = node == nullptr ? nullptr : node->next;
  return node == nullptr ? nullptr : &node->info;
}

size_t PMIx_Info_list_get_size(void* ptr) {
  return ptr == nullptr ? 0 : ListOf(ptr)->size;
}

}  // extern "C"
