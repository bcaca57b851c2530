/* Exchanges a value of 20 MB from every rank, and many small values. */
#include "check.h"

#define BIG (20u << 20)

int main(int argc, char **argv) {
  pmix_value_t value;
  char key[32];
  begin(argc, argv);
  memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.size = BIG;
  value.data.bo.bytes = malloc(BIG);
  memset(value.data.bo.bytes, (int) me.rank + 1, BIG);
  OK(PMIx_Put(PMIX_GLOBAL, "big", &value));
  for (uint32_t i = 0; i < 500; ++i) {
    snprintf(key, sizeof key, "small.%u", i);
    put_u64(key, i + me.rank);
  }
  OK(PMIx_Commit());
  fence(1);
  for (uint32_t r = 0; r < job_size; ++r) {
    pmix_value_t *got = get(r, "big");
    EXPECT(BIG, got->data.bo.size);
    EXPECT((int) r + 1, got->data.bo.bytes[0]);
    EXPECT((int) r + 1, got->data.bo.bytes[BIG - 1]);
    PMIX_VALUE_RELEASE(got);
    expect_u64(r, "small.499", 499 + r);
  }
  fence(0);
  return end("big");
}
