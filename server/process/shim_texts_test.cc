#include "server/process/shim_texts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::process {
namespace {

class ShimTextsTest : public testing::Test {
 protected:
  static ProcessText Text(const std::string& text) {
    ProcessText out;
    out.proc = {"job", 3};
    out.client = 7;
    out.request = 100;
    out.pieces = {{true, text}};
    return out;
  }
  std::optional<TextRequest> Put(ProcessText text) {
    return texts_.Put(std::move(text),
                      [this](int status) { answers_.push_back(status); });
  }
  bool Answer(int status) { return texts_.OnDone(Encode(TextTaken{status})); }

  ShimTexts texts_;
  std::vector<int> answers_;
};

TEST_F(ShimTextsTest, ARequestContainsTheText) {
  ProcessText text = Text("err");
  text.pieces.push_back({false, "out"});
  text.key = "file";
  text.value = "topic";
  text.again = true;
  const auto request = Put(text);
  ASSERT_TRUE(request);
  EXPECT_EQ(
      Encode(*request),
      Encode(TextRequest{7,
                         100,
                         true,
                         3,
                         "file",
                         "topic",
                         {{kChannelStderr, "err"}, {kChannelStdout, "out"}}}));
}

TEST_F(ShimTextsTest, AnswersAreMatchedToTextsInOrder) {
  EXPECT_FALSE(Answer(0)) << "nobody asked";
  Put(Text("a"));
  Put(Text("b"));
  EXPECT_TRUE(Answer(kErrOutOfResource));
  EXPECT_TRUE(Answer(kSuccess));
  EXPECT_EQ(answers_, (std::vector<int>{kErrOutOfResource, kSuccess}));
  Put(Text("c"));
  EXPECT_FALSE(texts_.OnDone("\xff"));
}

TEST_F(ShimTextsTest, TextsThatAreTooLargeAreNotSent) {
  EXPECT_TRUE(Put(Text(std::string(ProcessText::kMaxBytes, 'x'))));
  EXPECT_FALSE(Put(Text(std::string(ProcessText::kMaxBytes + 1, 'x'))));
  ProcessText text = Text("");
  text.pieces.resize(ProcessText::kMaxPieces + 1);
  EXPECT_FALSE(Put(text));
  text.pieces.resize(1);
  text.key.assign(ProcessText::kMaxKind + 1, 'x');
  EXPECT_FALSE(Put(text));
  EXPECT_EQ(answers_, std::vector<int>(3, kErrOutOfResource));
}

TEST_F(ShimTextsTest, UnansweredTextsAreLimited) {
  const std::string large(ProcessText::kMaxBytes, 'x');
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Put(Text(large)));
  EXPECT_FALSE(Put(Text("x")));
  EXPECT_TRUE(Answer(kSuccess));
  EXPECT_TRUE(Put(Text("x")));
}

TEST_F(ShimTextsTest, FailAllFailsAllPendingTexts) {
  Put(Text("a"));
  Put(Text("b"));
  texts_.FailAll(kErrNotSupported);
  EXPECT_EQ(answers_, std::vector<int>(2, kErrNotSupported));
  EXPECT_FALSE(Answer(kSuccess));
}

}  // namespace
}  // namespace canopy::process
