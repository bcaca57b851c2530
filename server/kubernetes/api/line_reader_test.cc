#include "server/kubernetes/api/line_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace canopy::kubernetes {
namespace {

std::vector<std::string> Lines(LineReader* reader) {
  std::vector<std::string> lines;
  std::string_view line;
  while (reader->Take(&line) == LineReader::Next::kLine) {
    lines.emplace_back(line);
  }
  return lines;
}

using Texts = std::vector<std::string>;

TEST(LineReaderTest, TakesLinesAsTheyArrive) {
  LineReader reader(10);
  reader.Append("one\ntw");
  EXPECT_EQ(Lines(&reader), Texts{"one"});
  reader.Append("");
  EXPECT_EQ(Lines(&reader), Texts{});
  reader.Append("o\n\n\nthree\nfour\nfiv");
  EXPECT_EQ(Lines(&reader), (Texts{"two", "three", "four"}));
  reader.Append("e\n");
  EXPECT_EQ(Lines(&reader), Texts{"five"});
}

TEST(LineReaderTest, RejectsLinesBeyondTheLimit) {
  std::string_view line;
  LineReader complete(3);
  complete.Append("abc\nabcd\n");
  EXPECT_EQ(complete.Take(&line), LineReader::Next::kLine);
  EXPECT_EQ(complete.Take(&line), LineReader::Next::kTooLong);

  LineReader incomplete(3);
  incomplete.Append("abc");
  EXPECT_EQ(incomplete.Take(&line), LineReader::Next::kIncomplete);
  incomplete.Append("d");
  EXPECT_EQ(incomplete.Take(&line), LineReader::Next::kTooLong);
}

}  // namespace
}  // namespace canopy::kubernetes
