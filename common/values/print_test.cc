#include "common/values/print.h"

#include <gtest/gtest.h>

#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy {
namespace {

TEST(PrintTest, ValuesArePrintedWithTypeAndName) {
  EXPECT_EQ(PrintValue(Value::Uint32(5).raw(), " "),
            " PMIX_VALUE:  Data type: PMIX_UINT32\tValue: 5");
  EXPECT_EQ(PrintValue(Value::Bool(true).raw(), ""),
            "PMIX_VALUE:  Data type: PMIX_BOOL\tValue: TRUE");
  EXPECT_EQ(PrintValue(Value::Status(PMIX_ERR_NOT_FOUND).raw(), ""),
            "PMIX_VALUE:  Data type: PMIX_STATUS\tValue: NOT-FOUND");
  EXPECT_EQ(PrintValue(Value::Rank(PMIX_RANK_WILDCARD).raw(), ""),
            "PMIX_VALUE:  Data type: PMIX_PROC_RANK\t"
            "Value: PMIX_RANK_WILDCARD");
  EXPECT_EQ(PrintValue(Value().raw(), ""),
            "PMIX_VALUE:  Data type: PMIX_UNDEF");
}

TEST(PrintTest, ArraysOfInfosArePrintedByLine) {
  const InfoList list = {{"k1", Value::String("v1")}};
  EXPECT_EQ(PrintValue(Value::InfoArray(list).raw(), "P "),
            "P PMIX_VALUE:  Data type: PMIX_DATA_ARRAY\tType: PMIX_INFO\t"
            "Size: 1\n"
            "  KEY: k1\n"
            " \t Data type: PMIX_INFO_DIRECTIVES\tValue: OPTIONAL\n"
            " \t PMIX_VALUE:  Data type: PMIX_STRING\tValue: v1");
}

TEST(PrintTest, UnknownTypesAreMarkedAndNullContentIsPrinted) {
  pmix_value_t value = {};
  value.type = 400;
  EXPECT_NE(PrintValue(value, "").find("UNKNOWN(400)"), std::string::npos);
  value.type = PMIX_PROC;
  EXPECT_NE(PrintValue(value, "").find("NULL"), std::string::npos);
}

TEST(PrintTest, EveryTypePrintsItsZeroElement) {
  for (pmix_data_type_t id = 1; id < kNumTypes; ++id) {
    const TypeInfo* type = FindType(id);
    if (type == nullptr) continue;
    const std::string empty(type->size, '\0');
    EXPECT_FALSE(PrintElement(id, empty.data(), "").empty()) << type->name;
  }
}

}  // namespace
}  // namespace canopy
