// Data buffers: DATA-01 to DATA-08, between the processes of the job. WORD:
// "described" if PMIX_BFROP_BUFFER_TYPE requests types in the buffers, so that
// a wrong type is detected.
#include "check.h"

static const pmix_status_t kInadequate = PMIX_ERR_UNPACK_INADEQUATE_SPACE;
static const pmix_status_t kPastEnd = PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER;

static pmix_data_buffer_t Empty(void) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  return buffer;
}

// Packs three numbers, a text and a process.
static void Pack(const pmix_proc_t *target, pmix_data_buffer_t *buffer) {
  uint32_t numbers[] = {g_self.rank, 1u << 31, 7};
  char *text = (char *)"packed";
  OK(PMIx_Data_pack(target, buffer, numbers, 3, PMIX_UINT32));
  OK(PMIx_Data_pack(target, buffer, &text, 1, PMIX_STRING));
  OK(PMIx_Data_pack(target, buffer, &g_self, 1, PMIX_PROC));
}

static void Unpack(pmix_data_buffer_t *buffer, pmix_rank_t rank) {
  uint32_t numbers[8] = {0};
  int32_t count = 8;
  OK(PMIx_Data_unpack(NULL, buffer, numbers, &count, PMIX_UINT32));
  CHECK(count == 3 && numbers[0] == rank && numbers[1] == 1u << 31,
        "%d numbers from %u on", count, numbers[0]);
  char *text = NULL;
  count = 1;
  OK(PMIx_Data_unpack(NULL, buffer, &text, &count, PMIX_STRING));
  CHECK(count == 1 && strcmp(text, "packed") == 0, "%s", text);
  free(text);
  pmix_proc_t proc;
  count = 1;
  OK(PMIx_Data_unpack(NULL, buffer, &proc, &count, PMIX_PROC));
  CHECK(proc.rank == rank && strcmp(proc.nspace, g_self.nspace) == 0, "rank %u",
        proc.rank);
  // DATA-02: the buffer is at its end.
  count = 1;
  EXPECT(kPastEnd, PMIx_Data_unpack(NULL, buffer, &proc, &count, PMIX_PROC));
}

// DATA-01, DATA-03: the job uses one form, and any receiver unpacks the
// elements in the order in which they were packed.
static void ForOthers(void) {
  const pmix_proc_t next = ProcOf((g_self.rank + 1) % g_size);
  const pmix_proc_t before = ProcOf((g_self.rank + g_size - 1) % g_size);
  pmix_data_buffer_t buffer = Empty();
  Pack(&next, &buffer);
  pmix_data_buffer_t own = Empty();
  Pack(NULL, &own);
  CHECK(buffer.bytes_used == own.bytes_used &&
            memcmp(buffer.base_ptr, own.base_ptr, own.bytes_used) == 0,
        "another form for rank %u", next.rank);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  OK(PMIx_Data_unload(&buffer, &value.data.bo));
  OK(PMIx_Put(PMIX_GLOBAL, "buffer", &value));
  PMIX_VALUE_DESTRUCT(&value);
  OK(PMIx_Commit());
  FenceCollect();
  pmix_value_t *got = MustGet(&before, "buffer", NULL, PMIX_BYTE_OBJECT);
  pmix_data_buffer_t read = Empty();
  OK(PMIx_Data_embed(&read, &got->data.bo));
  Unpack(&read, before.rank);
  PMIX_VALUE_RELEASE(got);
  PMIX_DATA_BUFFER_DESTRUCT(&read);
  PMIX_DATA_BUFFER_DESTRUCT(&own);
}

// DATA-02: unpacking fails if the caller has too little room, and, if the
// buffer describes its types, for a wrong type.
static void Refusals(bool described) {
  pmix_data_buffer_t buffer = Empty();
  Pack(NULL, &buffer);
  uint32_t numbers[2] = {0};
  int32_t count = 2;
  EXPECT(kInadequate,
         PMIx_Data_unpack(NULL, &buffer, numbers, &count, PMIX_UINT32));
  CHECK(count == 2 && numbers[0] == g_self.rank, "%d numbers", count);
  if (described) {
    // The element stays in the buffer with its type.
    uint64_t number = 0;
    char *text = NULL;
    count = 1;
    EXPECT(PMIX_ERR_TYPE_MISMATCH,
           PMIx_Data_unpack(NULL, &buffer, &number, &count, PMIX_UINT64));
    count = 1;
    OK(PMIx_Data_unpack(NULL, &buffer, &text, &count, PMIX_STRING));
    free(text);
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Data_pack(NULL, NULL, numbers, 1, PMIX_UINT32));
}

// DATA-04 to DATA-07: payloads in and out of buffers.
static void Payloads(void) {
  pmix_data_buffer_t buffer = Empty();
  pmix_data_buffer_t copy = Empty();
  uint32_t number = 5;
  int32_t count = 1;
  OK(PMIx_Data_pack(NULL, &buffer, &number, 1, PMIX_UINT32));
  Pack(NULL, &buffer);
  OK(PMIx_Data_unpack(NULL, &buffer, &number, &count, PMIX_UINT32));
  // The call copies the unread part; the source is unchanged.
  OK(PMIx_Data_copy_payload(&copy, &buffer));
  Unpack(&copy, g_self.rank);
  pmix_byte_object_t bytes = {NULL, 0};
  OK(PMIx_Data_unload(&buffer, &bytes));
  CHECK(buffer.base_ptr == NULL && buffer.bytes_used == 0, "not empty");
  CHECK(bytes.bytes != NULL && bytes.size > 0, "no bytes");
  // Embedding copies the bytes, and loading takes them over.
  OK(PMIx_Data_embed(&copy, &bytes));
  CHECK(copy.base_ptr != bytes.bytes, "not a copy");
  Unpack(&copy, g_self.rank);
  const char *const taken = bytes.bytes;
  OK(PMIx_Data_load(&buffer, &bytes));
  CHECK(buffer.base_ptr == taken && bytes.bytes == NULL, "copied");
  Unpack(&buffer, g_self.rank);
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  PMIX_DATA_BUFFER_DESTRUCT(&copy);
}

// DATA-08: compression, and its refusal if the result would not be smaller.
static void Compression(void) {
  enum { kSize = 1 << 16 };
  uint8_t *plain = calloc(kSize, 1);
  uint8_t *packed = NULL;
  uint8_t *back = NULL;
  size_t size = 0;
  size_t back_size = 0;
  CHECK(plain != NULL, "no memory");
  if (PMIx_Data_compress(plain, kSize, &packed, &size)) {
    CHECK(size < kSize, "%zu bytes", size);
    CHECK(PMIx_Data_decompress(packed, size, &back, &back_size), "no way back");
    CHECK(back_size == kSize && memcmp(plain, back, kSize) == 0, "%zu bytes",
          back_size);
    free(packed);
    free(back);
  }
  CHECK(!PMIx_Data_compress(plain, 1, &packed, &size), "one byte is less");
  free(plain);
}

int main(int argc, char **argv) {
  const bool described = argc > 3 && strcmp(argv[3], "described") == 0;
  if (described) {
    setenv("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_FULLY_DESC", 1);
  }
  Start(argc, argv);
  ForOthers();
  Refusals(described);
  Payloads();
  Compression();
  Barrier();
  return Finish();
}
