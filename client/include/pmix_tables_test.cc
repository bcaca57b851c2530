#include "client/include/pmix_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "pmix.h"
#include "pmix_server.h"

namespace canopy {
namespace {

template <typename Entries>
void ExpectSortedByName(const Entries& entries) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    EXPECT_LT(entries[i - 1].name, entries[i].name);
  }
}

TEST(PmixTables, AreSortedWithoutDuplicates) {
  ExpectSortedByName(Attributes());
  ExpectSortedByName(Constants());
  ExpectSortedByName(Functions());
}

TEST(PmixTables, TheTablesContainTheWholeInterface) {
  EXPECT_GE(Attributes().size(), 690u);
  EXPECT_GE(Constants().size(), 440u);
  EXPECT_GE(Functions().size(), 310u);
}

TEST(PmixTables, EveryAttributeIsFoundByNameAndKey) {
  for (const AttributeEntry& entry : Attributes()) {
    EXPECT_EQ(FindAttributeByName(entry.name), &entry);
    const AttributeEntry* by_key = FindAttributeByKey(entry.key);
    ASSERT_NE(by_key, nullptr) << entry.name;
    EXPECT_EQ(by_key->key, entry.key);
    if (by_key->deprecated) {
      EXPECT_TRUE(entry.deprecated) << entry.name;
    }
  }
  EXPECT_EQ(FindAttributeByName("PMIX_NO_SUCH_THING"), nullptr);
  EXPECT_EQ(FindAttributeByKey("pmix.no.such.thing"), nullptr);
  EXPECT_EQ(FindAttributeByKey(""), nullptr);
}

TEST(PmixTables, TheEntriesAgreeWithTheHeaders) {
  const AttributeEntry* size = FindAttributeByName("PMIX_JOB_SIZE");
  ASSERT_NE(size, nullptr);
  EXPECT_EQ(size->key, PMIX_JOB_SIZE);
  EXPECT_EQ(size->type, "uint32_t");
  EXPECT_EQ(size->data_type, PMIX_UINT32);
  EXPECT_FALSE(size->deprecated);
  const ConstantEntry* timeout = FindConstant("PMIX_ERR_TIMEOUT");
  ASSERT_NE(timeout, nullptr);
  EXPECT_EQ(timeout->value, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(timeout->type, "pmix_status_t");
  EXPECT_EQ(timeout->text, "TIMEOUT");
  EXPECT_EQ(FindConstant("PMIX_ERR_NO_SUCH_THING"), nullptr);
}

TEST(PmixTables, AKeyOfSeveralAttributesFindsTheCurrentOne) {
  EXPECT_EQ(FindAttributeByKey("pmix.alloc.net")->name, "PMIX_ALLOC_FABRIC");
  EXPECT_EQ(FindAttributeByKey("pmix.pdata")->name, "PMIX_PROC_INFO_ARRAY");
  EXPECT_EQ(FindAttributeByKey("pmix.qry.quals")->name,
            "PMIX_QUERY_QUALIFIERS");
  EXPECT_EQ(FindAttributeByKey("pmix.fab.coord")->name,
            "PMIX_FABRIC_COORDINATES");
  EXPECT_EQ(FindAttributeByKey("pmix.jctrl.ckptsig")->name,
            "PMIX_JOB_CTRL_CHECKPOINT_SIGNAL");
  EXPECT_EQ(FindAttributeByKey("pmix.dbg.notify")->name,
            "PMIX_DEBUG_STOP_IN_APP");
}

TEST(PmixTables, EveryTextIsFoundByValue) {
  for (const ConstantEntry& entry : Constants()) {
    if (entry.text.empty()) continue;
    const ConstantEntry* found = FindConstant(entry.type, entry.value);
    ASSERT_NE(found, nullptr) << entry.name;
    EXPECT_EQ(found->text, entry.text) << entry.name;
  }
  EXPECT_EQ(FindConstant("pmix_status_t", 12345), nullptr);
  EXPECT_EQ(FindConstant("pmix_status_t", -3)->name, "PMIX_DEBUGGER_RELEASE");
}

TEST(PmixTables, EveryStatusHasAText) {
  for (const ConstantEntry& entry : Constants()) {
    if (entry.type == "pmix_status_t") {
      EXPECT_FALSE(entry.text.empty()) << entry.name;
    }
  }
}

TEST(PmixTables, StatusesAreNegative) {
  for (const ConstantEntry& entry : Constants()) {
    if (entry.type != "pmix_status_t") continue;
    if (entry.name == "PMIX_SUCCESS") {
      EXPECT_EQ(entry.value, 0);
    } else {
      EXPECT_LT(entry.value, 0) << entry.name;
    }
  }
}

TEST(PmixTables, ConstantTextReturnsTheDefaultForUnknownValues) {
  EXPECT_STREQ(ConstantText("pmix_scope_t", PMIX_GLOBAL, "?"),
               "SHARE ACROSS ALL NODES");
  EXPECT_STREQ(ConstantText("pmix_scope_t", 200, "?"), "?");
  EXPECT_STREQ(ConstantText("pmix_nothing_t", 0, "?"), "?");
}

TEST(PmixTables, FunctionsHaveARoleAndAGroup) {
  auto functions = Functions();
  auto it = std::ranges::find_if(
      functions, [](const FunctionEntry& f) { return f.name == "PMIx_Get"; });
  ASSERT_NE(it, functions.end());
  EXPECT_EQ(it->role, "client/server/tool");
  EXPECT_EQ(it->group, "put-get");
}

TEST(PmixTables, AttributesOfFunctionsExist) {
  std::size_t seen = 0;
  for (const FunctionEntry& function : Functions()) {
    for (const FunctionAttribute& known : AttributesOf(function.name)) {
      EXPECT_EQ(known.function, function.name);
      EXPECT_NE(FindAttributeByName(known.attribute), nullptr)
          << known.attribute;
      ++seen;
    }
  }
  EXPECT_GT(seen, 500u);
}

TEST(PmixTables, TheAttributesOfAFunctionAreFound) {
  auto known = AttributesOf("PMIx_Fence");
  auto it = std::ranges::find_if(known, [](const FunctionAttribute& row) {
    return row.attribute == "PMIX_COLLECT_DATA";
  });
  ASSERT_NE(it, known.end());
  EXPECT_TRUE(it->required);
  EXPECT_FALSE(AttributesOf("pmix_server_spawn_fn_t").empty());
  EXPECT_TRUE(AttributesOf("PMIx_Commit").empty());
  EXPECT_TRUE(AttributesOf("").empty());
}

}  // namespace
}  // namespace canopy
