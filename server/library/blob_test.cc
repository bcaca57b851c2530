#include "server/library/blob.h"

#include <gtest/gtest.h>

namespace canopy::library {
namespace {

std::vector<std::string> Texts(const std::vector<Bytes>& pieces) {
  std::vector<std::string> texts;
  for (const Bytes& piece : pieces) texts.emplace_back(piece.view());
  return texts;
}

TEST(Blob, BlobsCanBeJoinedInAnyOrder) {
  const std::string a = MakeBlob("of a");
  const std::string b = MakeBlob("of b");
  EXPECT_EQ(Texts(SplitBlobs(Bytes(a + b)).value()),
            (std::vector<std::string>{"of a", "of b"}));
  EXPECT_EQ(Texts(SplitBlobs(Bytes(b + a)).value()),
            (std::vector<std::string>{"of b", "of a"}));
  EXPECT_TRUE(SplitBlobs(Bytes()).value().empty());
}

TEST(Blob, MakeBlobOfNothingIsNotEmpty) {
  const std::string none = MakeBlob("");
  EXPECT_FALSE(none.empty());
  EXPECT_EQ(Texts(SplitBlobs(Bytes(none)).value()),
            std::vector<std::string>{""});
}

TEST(Blob, TheFailureOfOneNodeFailsTheSplit) {
  const std::string good = MakeBlob("records");
  const std::string failed = MakeFailure(kErrTimeout);
  EXPECT_EQ(SplitBlobs(Bytes(good + failed)).code(), kErrTimeout);
  EXPECT_EQ(SplitBlobs(Bytes(failed + good)).code(), kErrTimeout);
  EXPECT_EQ(SplitBlobs(Bytes(MakeFailure(kSuccess))).code(), kErrUnpackFailure);
  EXPECT_EQ(SplitBlobs(Bytes(failed.substr(0, failed.size() - 1))).code(),
            kErrUnpackFailure);
}

TEST(Blob, ATruncatedBlobIsRefused) {
  const std::string whole = MakeBlob("records");
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_EQ(SplitBlobs(Bytes(whole.substr(0, size))).code(),
              kErrUnpackFailure)
        << size;
  }
  EXPECT_EQ(SplitBlobs(Bytes(whole + "x")).code(), kErrUnpackFailure);
}

TEST(Blob, NamesOfNodeOnlyKeysFollowTheData) {
  EXPECT_EQ(MakeOutside({}), "");
  const std::string joined = MakeBlob("records") + MakeOutside({"a", "b"});
  std::vector<std::string> outside;
  const auto nodes = SplitBlobs(Bytes(joined), &outside);
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ((*nodes)[0].view(), "records");
  EXPECT_EQ(outside, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(SplitBlobs(Bytes(joined.substr(0, joined.size() - 1))).code(),
            kErrUnpackFailure);
}

}  // namespace
}  // namespace canopy::library
