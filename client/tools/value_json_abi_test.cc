#include <gtest/gtest.h>

#include "client/tools/value_json.h"
#include "pmix.h"

namespace canopy::tools {
namespace {

pmix_value_t Value(pmix_data_type_t type) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = type;
  return value;
}

TEST(ValueJsonTest, NumbersAndFlagsHaveTheirJsonTypes) {
  pmix_value_t value = Value(PMIX_UINT64);
  value.data.uint64 = UINT64_MAX;
  EXPECT_EQ(ValueJson(value).dump(), "18446744073709551615");
  value = Value(PMIX_BOOL);
  value.data.flag = true;
  EXPECT_EQ(ValueJson(value).dump(), "true");
}

TEST(ValueJsonTest, ProcessesHaveAJobAndARank) {
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, "canopy-1", 3);
  pmix_value_t value = Value(PMIX_PROC);
  value.data.proc = &proc;
  EXPECT_EQ(ValueJson(value).dump(), R"({"job":"canopy-1","rank":3})");
  proc.rank = PMIX_RANK_WILDCARD;
  EXPECT_EQ(ValueJson(value).dump(), R"({"job":"canopy-1","rank":null})");
}

TEST(ValueJsonTest, StatusesHaveTheirNames) {
  pmix_value_t value = Value(PMIX_STATUS);
  value.data.status = PMIX_ERR_NOT_FOUND;
  EXPECT_EQ(ValueJson(value).dump(),
            R"({"status":-46,"status_name":"NOT-FOUND"})");
}

TEST(ValueJsonTest, AnArrayOfInfosBecomesAnObject) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  const uint32_t size = 4;
  PMIX_INFO_LOAD(&info, PMIX_JOB_SIZE, &size, PMIX_UINT32);
  pmix_data_array_t array = {PMIX_INFO, 1, &info};
  pmix_value_t value = Value(PMIX_DATA_ARRAY);
  value.data.darray = &array;
  EXPECT_EQ(ValueJson(value).dump(), R"({"PMIX_JOB_SIZE":4})");
}

}  // namespace
}  // namespace canopy::tools
