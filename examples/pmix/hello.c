/* Prints the process's name, its place, and its peers. */
#include "check.h"

int main(int argc, char **argv) {
  begin(argc, argv);
  pmix_value_t *value = NULL;
  CHECK_OK(PMIx_Get(&self, PMIX_HOSTNAME, NULL, 0, &value));
  CHECK(value->type == PMIX_STRING);
  printf("rank %u of %u on %s, local rank %u\n", self.rank, job_size,
         value->data.string, get_number(self.rank, PMIX_LOCAL_RANK));
  PMIX_VALUE_RELEASE(value);
  return end("hello");
}
