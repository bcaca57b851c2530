#include "server/core/query/answer_writer.h"

#include <gtest/gtest.h>

#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"

namespace canopy::core {
namespace {

// Rule QRY-02 of tests/conformance/rules.tsv.
TEST(AnswerWriterTest, TheStatusDependsOnTheNumberOfAnswers) {
  AnswerWriter all;
  all.Add("a", Value::Int(1));
  EXPECT_EQ(all.status(), kSuccess);
  all.AddNothing();
  EXPECT_EQ(all.status(), kErrPartialSuccess);
  AnswerWriter none;
  none.Add("a", Value());
  none.Add("b", "");
  EXPECT_EQ(none.status(), kErrNotFound);
  EXPECT_TRUE(none.Take().empty());
}

// Rule QRY-05 of tests/conformance/rules.tsv.
TEST(AnswerWriterTest, WritesOneInfoForEachKeyInOrder) {
  AnswerWriter writer;
  writer.Add("a", Value::Int(1));
  writer.Add("b", Value());
  writer.Add("a", EncodeValue(Value::String("x").raw()));
  InfoList infos;
  ASSERT_TRUE(DecodeInfos(writer.Take().view(), &infos));
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(KeyOf(infos[0]), "a");
  EXPECT_EQ(Int64Of(infos[0].value), 1);
  EXPECT_EQ(StringOf(infos[1].value), "x");
}

TEST(AnswerWriterTest, AnAnswerBeyondTheLimitIsRefusedAsAWhole) {
  AnswerWriter writer;
  const std::string large =
      EncodeValue(Value::String(std::string(kMaxAnswer / 4, 'x')).raw());
  for (int i = 0; i < 4; ++i) writer.Add("a", large);
  EXPECT_EQ(writer.status(), kErrOutOfResource);
  EXPECT_TRUE(writer.Take().empty());
}

}  // namespace
}  // namespace canopy::core
