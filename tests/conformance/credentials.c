// PMIx_Get_credential and PMIx_Validate_credential, in both forms: SEC-04,
// SEC-05, SEC-06 and GEN-10. A credential of any rank is valid on every node.
#include "nonblocking.h"

enum { kMaxBytes = 4096 };

typedef struct {
  char bytes[kMaxBytes];
  size_t size;
} Credential;

static pmix_byte_object_t BytesOf(Credential *credential) {
  const pmix_byte_object_t object = {credential->bytes, credential->size};
  return object;
}

static void Keep(const pmix_byte_object_t *object, Credential *credential) {
  CHECK(object->bytes != NULL && object->size > 0, "an empty credential");
  CHECK(object->size <= kMaxBytes, "%zu bytes", object->size);
  memcpy(credential->bytes, object->bytes, object->size);
  credential->size = object->size;
}

static Credential g_credential;  // from the last callback

static void OnCredential(pmix_status_t status, pmix_byte_object_t *credential,
                         pmix_info_t info[], size_t ninfo, void *call) {
  if (status == PMIX_SUCCESS) {
    Keep(credential, &g_credential);
    CHECK(ninfo == 1 && PMIX_CHECK_KEY(&info[0], PMIX_CRED_TYPE), "%zu results",
          ninfo);
  }
  Answered(call, status);
}

static const pmix_info_t *FindIn(const pmix_info_t *results, size_t count,
                                 const char *key) {
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&results[i], key)) return &results[i];
  }
  CHECK(false, "no %s", key);
  return NULL;
}

static void ExpectHolder(const pmix_info_t *results, size_t count,
                         const pmix_proc_t *holder) {
  const pmix_value_t *user = &FindIn(results, count, PMIX_USERID)->value;
  CHECK(user->type == PMIX_UINT32 && user->data.uint32 == geteuid(), "user %u",
        user->data.uint32);
  const pmix_value_t *group = &FindIn(results, count, PMIX_GRPID)->value;
  CHECK(group->type == PMIX_UINT32 && group->data.uint32 == getegid(),
        "group %u", group->data.uint32);
  const pmix_value_t *proc = &FindIn(results, count, PMIX_PROCID)->value;
  CHECK(proc->type == PMIX_PROC && PMIX_CHECK_PROCID(proc->data.proc, holder),
        "of another process");
}

static pmix_proc_t g_holder;  // expected by the next callback

static void OnValidated(pmix_status_t status, pmix_info_t info[], size_t ninfo,
                        void *call) {
  if (status == PMIX_SUCCESS) ExpectHolder(info, ninfo, &g_holder);
  if (status != PMIX_SUCCESS) CHECK(ninfo == 0, "%zu results", ninfo);
  Answered(call, status);
}

static Credential Own(void) {
  Credential own;
  pmix_byte_object_t object = {NULL, 0};
  OK(PMIx_Get_credential(NULL, 0, &object));
  Keep(&object, &own);
  PMIX_BYTE_OBJECT_DESTRUCT(&object);
  return own;
}

static void ExpectValid(Credential *credential, const pmix_proc_t *holder) {
  const pmix_byte_object_t object = BytesOf(credential);
  pmix_info_t *results = NULL;
  size_t count = 0;
  OK(PMIx_Validate_credential(&object, NULL, 0, &results, &count));
  ExpectHolder(results, count, holder);
  PMIX_INFO_FREE(results, count);
  g_holder = *holder;
  ANSWERS(PMIX_SUCCESS, PMIx_Validate_credential_nb, &object, NULL, 0,
          OnValidated);
}

static void ExpectInvalid(Credential *credential) {
  const pmix_byte_object_t object = BytesOf(credential);
  pmix_info_t *results = NULL;
  size_t count = 7;
  EXPECT(PMIX_ERR_INVALID_CRED,
         PMIx_Validate_credential(&object, NULL, 0, &results, &count));
  CHECK(results == NULL && count == 0, "%zu results", count);
  ANSWERS(PMIX_ERR_INVALID_CRED, PMIx_Validate_credential_nb, &object, NULL, 0,
          OnValidated);
}

// All processes validate the credentials of all processes (SEC-05).
static void OfOthers(void) {
  Credential own = Own();
  ExpectValid(&own, &g_self);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo = BytesOf(&own);
  OK(PMIx_Put(PMIX_GLOBAL, "credential", &value));
  OK(PMIx_Commit());
  FenceCollect();
  for (uint32_t rank = 0; rank < g_size; ++rank) {
    const pmix_proc_t other = ProcOf(rank);
    pmix_value_t *found = MustGet(&other, "credential", NULL, PMIX_BYTE_OBJECT);
    Credential credential;
    Keep(&found->data.bo, &credential);
    PMIX_VALUE_RELEASE(found);
    ExpectValid(&credential, &other);
  }
}

static void Altered(void) {
  for (size_t i = 0; i < 12; ++i) {
    Credential credential = Own();
    credential.bytes[i * (credential.size - 1) / 11] ^= 1;
    ExpectInvalid(&credential);
  }
  Credential credential = Own();
  --credential.size;
  ExpectInvalid(&credential);
  credential.size = 0;
  ExpectInvalid(&credential);
  memset(credential.bytes, 'x', kMaxBytes);
  credential.size = kMaxBytes;
  ExpectInvalid(&credential);
}

// Credential types are used in the order of the caller's list (SEC-04). A
// caller's statements about its user have no effect (SEC-06). Unknown required
// directives are rejected (GEN-10).
static void Attributes(void) {
  pmix_byte_object_t object = {NULL, 0};
  Directives with = {.count = 0};
  AddText(&with, PMIX_CRED_TYPE, "another,canopy");
  AddInt(&with, PMIX_TIMEOUT, 30);
  AddU32(&with, PMIX_USERID, geteuid() + 1);
  AddU32(&with, PMIX_GRPID, getegid() + 1);
  ANSWERS(PMIX_SUCCESS, PMIx_Get_credential_nb, with.info, with.count,
          OnCredential);
  ExpectValid(&g_credential, &g_self);
  const pmix_byte_object_t good = BytesOf(&g_credential);
  pmix_info_t *results = NULL;
  size_t count = 0;
  OK(PMIx_Validate_credential(&good, with.info, with.count, &results, &count));
  PMIX_INFO_FREE(results, count);

  Directives other = {.count = 0};
  AddText(&other, PMIX_CRED_TYPE, "another");
  Directives unknown = Flag("unknown");
  PMIX_INFO_REQUIRED(&unknown.info[0]);
  const Directives refused[] = {other, unknown};
  for (int i = 0; i < 2; ++i) {
    EXPECT(PMIX_ERR_NOT_SUPPORTED,
           PMIx_Get_credential(refused[i].info, 1, &object));
    ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Get_credential_nb, refused[i].info, 1,
            OnCredential);
    EXPECT(
        PMIX_ERR_NOT_SUPPORTED,
        PMIx_Validate_credential(&good, refused[i].info, 1, &results, &count));
    ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Validate_credential_nb, &good,
            refused[i].info, 1, OnValidated);
  }
}

static void WrongArguments(void) {
  pmix_byte_object_t object = {NULL, 3};
  pmix_info_t *results = NULL;
  size_t count = 0;
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Get_credential(NULL, 0, NULL));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Validate_credential(NULL, NULL, 0, &results, &count));
  EXPECT(PMIX_ERR_BAD_PARAM,
         PMIx_Validate_credential(&object, NULL, 0, NULL, NULL));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Get_credential_nb, NULL, 1, OnCredential);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Validate_credential_nb, NULL, NULL, 0,
          OnValidated);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  WrongArguments();
  OfOthers();
  Altered();
  Attributes();
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
