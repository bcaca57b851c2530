// DATA-18: texts of the library's values, which are not freed, and the
// functions that no other program calls.
#include <pmix_server.h>

#include "check.h"

// Two equal calls must return the same text.
static void Is(const char *got, const char *again, const char *what) {
  CHECK(got != NULL && got[0] != '\0', "no text of %s", what);
  CHECK(again != NULL && strcmp(got, again) == 0, "%s, then %s", got, again);
}

#define TEXT(call) Is(call, call, #call)

// Newer headers also have these functions.
static void OfConstants(void) {
  TEXT(PMIx_Error_string(PMIX_ERR_TIMEOUT));
  TEXT(PMIx_Proc_state_string(PMIX_PROC_STATE_RUNNING));
  TEXT(PMIx_Scope_string(PMIX_LOCAL));
  TEXT(PMIx_Persistence_string(PMIX_PERSIST_APP));
  TEXT(PMIx_Data_range_string(PMIX_RANGE_SESSION));
  TEXT(PMIx_Info_directives_string(PMIX_INFO_REQD));
  TEXT(PMIx_Data_type_string(PMIX_PROC));
  TEXT(PMIx_Alloc_directive_string(PMIX_ALLOC_EXTEND));
  TEXT(PMIx_IOF_channel_string(PMIX_FWD_STDOUT_CHANNEL));
  TEXT(PMIx_Job_state_string(PMIX_JOB_STATE_RUNNING));
  TEXT(PMIx_Link_state_string(PMIX_LINK_UP));
  TEXT(PMIx_Device_type_string(PMIX_DEVTYPE_GPU));
  TEXT(PMIx_Get_attribute_string("PMIX_JOB_SIZE"));
  TEXT(PMIx_Get_attribute_name(PMIX_JOB_SIZE));
  CHECK(strcmp(PMIx_Get_attribute_string("PMIX_JOB_SIZE"), PMIX_JOB_SIZE) == 0,
        "%s", PMIx_Get_attribute_string("PMIX_JOB_SIZE"));
  CHECK(strcmp(PMIx_Get_attribute_name(PMIX_JOB_SIZE), "PMIX_JOB_SIZE") == 0,
        "%s", PMIx_Get_attribute_name(PMIX_JOB_SIZE));
}

// Headers of other libraries lack these names.
#ifdef PMIX_RESOURCE_BLOCK_NAME
static void Newer(void) {
  TEXT(PMIx_Group_operation_string(PMIX_GROUP_CONSTRUCT));
  TEXT(PMIx_Value_comparison_string(PMIX_EQUAL));
  TEXT(PMIx_Alloc_inheritance_string(PMIX_ALLOC_INHERIT_NONE));
  TEXT(PMIx_Resource_block_directive_string(1));
  CHECK(PMIx_Error_code("PMIX_ERR_TIMEOUT") == PMIX_ERR_TIMEOUT, "%d",
        PMIx_Error_code("PMIX_ERR_TIMEOUT"));
  // These texts depend on a value, and the caller frees them.
  char *text = PMIx_Proc_string(&g_self);
  CHECK(text != NULL && strstr(text, g_self.nspace) != NULL, "%s", text);
  free(text);
  pmix_resource_unit_t unit;
  PMIx_Resource_unit_construct(&unit);
  text = PMIx_Resource_unit_string(&unit);
  CHECK(text != NULL && text[0] != '\0', "no text of a unit");
  free(text);
}
#else
static void Newer(void) {}
#endif

int main(int argc, char **argv) {
  // These functions may be called at any time, also before PMIx_Init.
  OfConstants();
  Start(argc, argv);
  OfConstants();
  Newer();
  return Finish();
}
