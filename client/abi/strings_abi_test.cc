#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

namespace {

std::string Taken(char* text) {
  if (text == nullptr) return "(null)";
  std::string copy = text;
  std::free(text);
  return copy;
}

TEST(StringsAbi, EachStatusHasAText) {
  EXPECT_STREQ(PMIx_Error_string(PMIX_SUCCESS), "SUCCESS");
  EXPECT_STREQ(PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED), "NOT-SUPPORTED");
  EXPECT_STREQ(PMIx_Error_string(PMIX_ERR_LOST_CONNECTION), "LOST_CONNECTION");
  EXPECT_STREQ(PMIx_Error_string(PMIX_PROCESS_SET_DELETE),
               "PROCESS SET DELETED");
  EXPECT_STREQ(PMIx_Error_string(-9999), "ERROR STRING NOT FOUND");
  EXPECT_STREQ(PMIx_Error_string(5), "ERROR STRING NOT FOUND");
}

TEST(StringsAbi, StatusCodesAreFoundByNameAndText) {
  EXPECT_EQ(PMIx_Error_code("PMIX_ERR_TIMEOUT"), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(PMIx_Error_code("TIMEOUT"), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(PMIx_Error_code("PMIX_EXISTS"), PMIX_ERR_EXISTS);
  EXPECT_EQ(PMIx_Error_code("nonsense"), INT32_MIN);
  EXPECT_EQ(PMIx_Error_code(nullptr), INT32_MIN);
}

TEST(StringsAbi, CodesOfEachTypeHaveTexts) {
  EXPECT_STREQ(PMIx_Proc_state_string(PMIX_PROC_STATE_RUNNING),
               "PROC EXECUTING");
  EXPECT_STREQ(PMIx_Proc_state_string(99), "UNKNOWN STATE");
  EXPECT_STREQ(PMIx_Scope_string(PMIX_GLOBAL), "SHARE ACROSS ALL NODES");
  EXPECT_STREQ(PMIx_Scope_string(99), "UNKNOWN SCOPE");
  EXPECT_STREQ(PMIx_Persistence_string(PMIX_PERSIST_INDEF), "INDEFINITE");
  EXPECT_STREQ(PMIx_Persistence_string(99), "UNKNOWN PERSISTENCE");
  EXPECT_STREQ(PMIx_Data_range_string(PMIX_RANGE_INVALID), "INVALID");
  EXPECT_STREQ(PMIx_Data_range_string(99), "UNKNOWN");
  EXPECT_STREQ(PMIx_Data_type_string(PMIX_PROC_RANK), "PMIX_PROC_RANK");
  EXPECT_STREQ(PMIx_Data_type_string(PMIX_LOCTYPE), "PMIX_LOCTYPE");
  EXPECT_STREQ(PMIx_Data_type_string(499), "UNKNOWN");
  EXPECT_STREQ(PMIx_Alloc_directive_string(PMIX_ALLOC_EXTEND), "EXTEND");
  EXPECT_STREQ(PMIx_Alloc_directive_string(99), "UNSPECIFIED");
  EXPECT_STREQ(PMIx_Job_state_string(PMIX_JOB_STATE_RUNNING), "RUNNING");
  EXPECT_STREQ(PMIx_Job_state_string(99), "UNKNOWN");
  EXPECT_STREQ(PMIx_Link_state_string(PMIX_LINK_UP), "ACTIVE");
  EXPECT_STREQ(PMIx_Link_state_string(99), "UNKNOWN");
  EXPECT_STREQ(PMIx_Device_type_string(PMIX_DEVTYPE_GPU), "GPU");
  EXPECT_STREQ(PMIx_Device_type_string(3), "UNKNOWN");
  EXPECT_STREQ(PMIx_Value_comparison_string(PMIX_VALUE2_GREATER),
               "VALUE2 GREATER");
  EXPECT_STREQ(PMIx_Group_operation_string(PMIX_GROUP_CANCEL), "CANCEL");
  EXPECT_STREQ(PMIx_Alloc_inheritance_string(PMIX_ALLOC_INHERIT_CHILD),
               "CHILD");
  EXPECT_STREQ(PMIx_Resource_block_directive_string(PMIX_RESOURCE_BLOCK_REMOVE),
               "REMOVE");
}

TEST(StringsAbi, ChannelsArePrintedAsASet) {
  EXPECT_STREQ(PMIx_IOF_channel_string(PMIX_FWD_NO_CHANNELS), "NONE");
  EXPECT_STREQ(PMIx_IOF_channel_string(PMIX_FWD_STDERR_CHANNEL), "STDERR");
  EXPECT_STREQ(
      PMIx_IOF_channel_string(PMIX_FWD_STDIN_CHANNEL | PMIX_FWD_STDOUT_CHANNEL),
      "STDIN STDOUT");
  EXPECT_STREQ(PMIx_IOF_channel_string(PMIX_FWD_ALL_CHANNELS),
               "STDIN STDOUT STDERR STDDIAG");
  EXPECT_STREQ(PMIx_IOF_channel_string(0x100), "NONE");
}

TEST(StringsAbi, DirectivesArePrintedAsFlags) {
  EXPECT_EQ(Taken(PMIx_Info_directives_string(0)), "OPTIONAL");
  EXPECT_EQ(Taken(PMIx_Info_directives_string(PMIX_INFO_REQD)), "REQUIRED");
  EXPECT_EQ(
      Taken(PMIx_Info_directives_string(
          PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED | PMIX_INFO_ARRAY_END)),
      "REQUIRED:PROCESSED:END");
  EXPECT_EQ(
      Taken(PMIx_Info_directives_string(PMIX_INFO_QUALIFIER | PMIX_INFO_REQD)),
      "QUALIFIER");
}

TEST(StringsAbi, StructuresArePrintedAsText) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, "job-1", 7);
  EXPECT_EQ(Taken(PMIx_Proc_string(&proc)), "job-1:7");
  proc.rank = PMIX_RANK_WILDCARD;
  EXPECT_EQ(Taken(PMIx_Proc_string(&proc)), "job-1:WILDCARD");
  EXPECT_EQ(PMIx_Proc_string(nullptr), nullptr);
  pmix_resource_unit_t unit = PMIX_RESOURCE_UNIT_STATIC_INIT;
  unit.type = PMIX_DEVTYPE_GPU;
  unit.count = 4;
  EXPECT_EQ(Taken(PMIx_Resource_unit_string(&unit)), "GPU:4");
  EXPECT_EQ(PMIx_Resource_unit_string(nullptr), nullptr);
}

TEST(StringsAbi, AttributesAreFoundByNameAndKey) {
  EXPECT_STREQ(PMIx_Get_attribute_string("PMIX_JOB_SIZE"), PMIX_JOB_SIZE);
  EXPECT_STREQ(PMIx_Get_attribute_name(PMIX_JOB_SIZE), "PMIX_JOB_SIZE");
  EXPECT_STREQ(PMIx_Get_attribute_string("my.key"), "my.key");
  EXPECT_STREQ(PMIx_Get_attribute_name("my.key"), "my.key");
  EXPECT_EQ(PMIx_Get_attribute_name(nullptr), nullptr);
  EXPECT_EQ(PMIx_Get_attribute_string(nullptr), nullptr);
}

}  // namespace
