/* Runs a query, and prints its status and its results, one on each line. Usage:
 * ASK [queue=NAME] [timeout=SECONDS] [required=KEY] KEY... */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 16 };

static pmix_info_t qualifiers[kMost];
static size_t num_qualifiers;
static char *keys[kMost + 1];
static size_t num_keys;

static void take(char *word) {
  pmix_info_t *info = &qualifiers[num_qualifiers];
  char *value = strchr(word, '=');
  if (value == NULL) {
    keys[num_keys++] = word;
    return;
  }
  ++value;
  ++num_qualifiers;
  if (strncmp(word, "queue=", 6) == 0) {
    PMIX_INFO_LOAD(info, PMIX_ALLOC_QUEUE, value, PMIX_STRING);
  } else if (strncmp(word, "timeout=", 8) == 0) {
    int seconds = atoi(value);
    PMIX_INFO_LOAD(info, PMIX_TIMEOUT, &seconds, PMIX_INT);
  } else {
    PMIX_INFO_LOAD(info, value, "", PMIX_STRING);
    PMIX_INFO_REQUIRED(info);
  }
}

static void show(const pmix_info_t *info) {
  if (info->value.type == PMIX_STRING) {
    printf("%s=%s\n", info->key, info->value.data.string);
  } else if (info->value.type == PMIX_UINT32) {
    printf("%s=%u\n", info->key, info->value.data.uint32);
  } else {
    printf("%s of type %u\n", info->key, info->value.type);
  }
}

int main(int argc, char **argv) {
  pmix_proc_t self;
  if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) return 2;
  for (int i = 1; i < argc && i <= kMost; ++i) take(argv[i]);
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  query.keys = keys;
  query.qualifiers = num_qualifiers > 0 ? qualifiers : NULL;
  query.nqual = num_qualifiers;
  pmix_info_t *results = NULL;
  size_t num_results = 0;
  pmix_status_t status = PMIx_Query_info(&query, 1, &results, &num_results);
  printf("query: %d, %zu results\n", status, num_results);
  for (size_t i = 0; i < num_results; ++i) show(&results[i]);
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 2;
}
