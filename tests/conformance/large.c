// Values from one byte to 20 MB, exchanged by a fence that collects and by
// direct modex, as byte objects, texts and arrays; many small values at once.
#include "check.h"

enum { kMega = 1 << 20 };
static const size_t kSizes[] = {1,      2,         100,    4095,
                                4096,   65536,     262143, 262144,
                                262145, kMega - 1, kMega,  3 * kMega + 7};
static const size_t kHuge = 20u * 1000 * 1000;

// The bytes differ for each rank and each round.
static char ByteAt(uint32_t seed, size_t at) {
  return (char)((at * 2654435761u >> 13) + seed * 17 + at);
}

static char *Fill(uint32_t seed, size_t size) {
  char *bytes = malloc(size + 1);
  CHECK(bytes != NULL, "no memory");
  for (size_t i = 0; i < size; ++i) bytes[i] = ByteAt(seed, i);
  return bytes;
}

static void PutBytes(const char *key, uint32_t seed, size_t size) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = Fill(seed, size);
  value.data.bo.size = size;
  OK(PMIx_Put(PMIX_GLOBAL, key, &value));
  free(value.data.bo.bytes);
}

static void CheckBytes(pmix_rank_t rank, const char *key, uint32_t seed,
                       size_t size) {
  const pmix_proc_t peer = ProcOf(rank);
  pmix_value_t *value = MustGet(&peer, key, NULL, PMIX_BYTE_OBJECT);
  CHECK(value->data.bo.size == size, "%s of rank %u has %zu bytes, not %zu",
        key, rank, value->data.bo.size, size);
  for (size_t i = 0; i < size; ++i) {
    if (value->data.bo.bytes[i] == ByteAt(seed, i)) continue;
    CHECK(false, "%s of rank %u is wrong from byte %zu on", key, rank, i);
  }
  PMIX_VALUE_RELEASE(value);
}

static void Sizes(const char *round, bool fence) {
  const size_t count = sizeof(kSizes) / sizeof(*kSizes);
  char key[64];
  for (size_t i = 0; i < count; ++i) {
    snprintf(key, sizeof(key), "%s.%zu", round, kSizes[i]);
    PutBytes(key, g_self.rank, kSizes[i]);
  }
  OK(PMIx_Commit());
  if (fence) FenceCollect();
  const pmix_rank_t peers[] = {(g_self.rank + 1) % g_size, g_self.rank,
                               (g_self.rank + g_size / 2) % g_size};
  for (size_t p = 0; p < 3; ++p) {
    for (size_t i = 0; i < count; ++i) {
      snprintf(key, sizeof(key), "%s.%zu", round, kSizes[i]);
      CheckBytes(peers[p], key, peers[p], kSizes[i]);
    }
  }
  Barrier();
}

// One rank posts the data, and all others read it.
static void Huge(const char *key, pmix_rank_t owner, bool fence) {
  if (g_self.rank == owner) {
    PutBytes(key, 99, kHuge);
    OK(PMIx_Commit());
  }
  if (fence) FenceCollect();
  CheckBytes(owner, key, 99, kHuge);
  Barrier();
}

static void LongText(void) {
  char *text = malloc(kMega + 1);
  CHECK(text != NULL, "no memory");
  memset(text, 'a' + (int)g_self.rank % 26, kMega);
  text[kMega] = '\0';
  PutText(PMIX_GLOBAL, "long.text", text);
  free(text);
  OK(PMIx_Commit());
  FenceCollect();
  const pmix_rank_t next = (g_self.rank + 1) % g_size;
  const pmix_proc_t peer = ProcOf(next);
  char *got = MustGetText(&peer, "long.text", NULL);
  CHECK(strlen(got) == kMega, "%zu characters", strlen(got));
  CHECK(got[kMega - 1] == 'a' + (int)next % 26, "another rank's text");
  free(got);
}

static void ManyKeys(void) {
  enum { kKeys = 2000 };
  char key[64];
  for (uint32_t i = 0; i < kKeys; ++i) {
    snprintf(key, sizeof(key), "many.%u", i);
    PutU32(PMIX_GLOBAL, key, i * 3 + g_self.rank);
  }
  OK(PMIx_Commit());
  FenceCollect();
  for (pmix_rank_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t peer = ProcOf(rank);
    for (uint32_t i = rank % 7; i < kKeys; i += 7) {
      snprintf(key, sizeof(key), "many.%u", i);
      const uint32_t got = MustGetNumber(&peer, key, NULL, PMIX_UINT32);
      CHECK(got == i * 3 + rank, "%s of rank %u is %u", key, rank, got);
    }
  }
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Sizes("fence", true);
  Sizes("direct", false);
  Huge("huge.fence", g_size - 1, true);
  Huge("huge.direct", 0, false);
  LongText();
  ManyKeys();
  Barrier();
  return Finish();
}
