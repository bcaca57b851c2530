// Process identities, namespaces, keys, ranks, string arrays, environments.
#include <cstring>

#include "pmix.h"

extern "C" {

void PMIx_Load_key(pmix_key_t key, const char* src) {
  canopy_load_text(key, src, PMIX_MAX_KEYLEN);
}

void PMIx_Load_nspace(pmix_nspace_t nspace, const char* str) {
  canopy_load_text(nspace, str, PMIX_MAX_NSLEN);
}

void PMIx_Load_procid(pmix_proc_t* p, const char* ns, pmix_rank_t rk) {
  if (p == nullptr) return;
  PMIx_Load_nspace(p->nspace, ns);
  p->rank = rk;
}

void PMIx_Proc_load(pmix_proc_t* p, const char* nspace, pmix_rank_t rank) {
  PMIx_Load_procid(p, nspace, rank);
}

void PMIx_Xfer_procid(pmix_proc_t* dst, const pmix_proc_t* src) {
  if (dst == nullptr || dst == src) return;
  *dst = src == nullptr ? pmix_proc_t{} : *src;
}

bool PMIx_Check_key(const char* key, const char* str) {
  return key != nullptr && str != nullptr &&
         strncmp(key, str, PMIX_MAX_KEYLEN) == 0;
}

bool PMIx_Check_nspace(const char* key1, const char* key2) {
  return canopy_check_nspace(key1, key2);
}

bool PMIx_Check_rank(pmix_rank_t a, pmix_rank_t b) {
  return a == b || a == PMIX_RANK_WILDCARD || b == PMIX_RANK_WILDCARD;
}

bool PMIx_Check_procid(const pmix_proc_t* a, const pmix_proc_t* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return PMIx_Check_nspace(a->nspace, b->nspace) &&
         PMIx_Check_rank(a->rank, b->rank);
}

bool PMIx_Check_reserved_key(const char* key) {
  return key != nullptr && strncmp(key, "pmix", 4) == 0;
}

bool PMIx_Nspace_invalid(const char* nspace) { return pmix_nslen(nspace) == 0; }

bool PMIx_Procid_invalid(const pmix_proc_t* p) {
  return p == nullptr || PMIx_Nspace_invalid(p->nspace) ||
         p->rank == PMIX_RANK_INVALID;
}

bool PMIx_Rank_valid(pmix_rank_t a) { return a < PMIX_RANK_VALID; }

bool PMIx_System_event(pmix_status_t a) {
  return a <= PMIX_EVENT_SYS_BASE && a >= PMIX_EVENT_SYS_OTHER;
}

void PMIx_Multicluster_nspace_construct(pmix_nspace_t target,
                                        pmix_nspace_t cluster,
                                        pmix_nspace_t nspace) {
  canopy_join_nspace(target, cluster, nspace);
}

void PMIx_Multicluster_nspace_parse(pmix_nspace_t target, pmix_nspace_t cluster,
                                    pmix_nspace_t nspace) {
  canopy_split_nspace(target, cluster, nspace);
}

int PMIx_Argv_count(char** a) { return pmix_argv_count(a); }

void PMIx_Argv_free(char** argv) { pmix_argv_free(argv); }

char** PMIx_Argv_copy(char** argv) { return pmix_argv_copy(argv); }

char* PMIx_Argv_join(char** argv, int delimiter) {
  return pmix_argv_join(argv, delimiter);
}

char** PMIx_Argv_split(const char* src_string, int delimiter) {
  return pmix_argv_split(src_string, delimiter);
}

char** PMIx_Argv_split_with_empty(const char* src_string, int delimiter) {
  return pmix_argv_split_with_empty(src_string, delimiter);
}

char** PMIx_Argv_split_inter(const char* src_string, int delimiter,
                             bool include_empty) {
  return pmix_argv_split_inter(src_string, delimiter, include_empty);
}

pmix_status_t PMIx_Argv_append_nosize(char*** argv, const char* arg) {
  if (argv == nullptr || arg == nullptr) return PMIX_ERR_BAD_PARAM;
  return pmix_argv_append_nosize(argv, arg);
}

pmix_status_t PMIx_Argv_prepend_nosize(char*** argv, const char* arg) {
  if (argv == nullptr || arg == nullptr) return PMIX_ERR_BAD_PARAM;
  return pmix_argv_prepend_nosize(argv, arg);
}

pmix_status_t PMIx_Argv_append_unique_nosize(char*** argv, const char* arg) {
  if (argv == nullptr || arg == nullptr) return PMIX_ERR_BAD_PARAM;
  return pmix_argv_append_unique_nosize(argv, arg);
}

pmix_status_t PMIx_Setenv(const char* name, const char* value, bool overwrite,
                          char*** env) {
  return pmix_setenv(name, value, overwrite, env);
}

}  // extern "C"
