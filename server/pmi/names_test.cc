#include "server/pmi/names.h"

#include <gtest/gtest.h>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_types.h"

namespace canopy::pmi {
namespace {

std::string Found(const std::string& text, size_t count) {
  Value value = Value::String(text);
  pmix_pdata_t data = {};
  PMIX_LOAD_KEY(data.key, "service");
  data.value = value.raw();
  Encoder encoder;
  encoder.PutSize(count);
  if (count > 0) encoder.PutElement(PMIX_PDATA, &data);
  return encoder.Take();
}

TEST(NamesTest, APublishedNameOutlivesItsProcess) {
  InfoList infos;
  ASSERT_TRUE(DecodeInfos(InfosOfName("service", "port#1"), &infos));
  EXPECT_EQ(infos.FindString("service"), "port#1");
  EXPECT_EQ(infos.FindUint(PMIX_PERSISTENCE), PMIX_PERSIST_SESSION);
}

TEST(NamesTest, PortInReturnsThePortOfALookup) {
  EXPECT_EQ(PortIn(Found("port#1", 1)), "port#1");
  EXPECT_EQ(PortIn(Found("port#1", 0)), std::nullopt);
  EXPECT_EQ(PortIn(""), std::nullopt);
  EXPECT_EQ(PortIn(Found("two\nlines", 1)), std::nullopt);
  EXPECT_EQ(PortIn(Found(std::string(4096, 'x'), 1)), std::nullopt);
}

}  // namespace
}  // namespace canopy::pmi
