#include "common/message_stream.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy {
namespace {

// The part of protobuf's interface that the stream needs.
struct FakeMessage {
  std::string bytes;
  bool complete = true;

  bool AppendToString(std::string* out) const {
    if (complete) *out += bytes;
    return complete;
  }
};

std::vector<std::string> TakeAll(MessageReader* reader,
                                 MessageReader::Next* end) {
  std::vector<std::string> messages;
  std::string_view message;
  while ((*end = reader->Take(&message)) == MessageReader::Next::kMessage) {
    messages.emplace_back(message);
  }
  return messages;
}

TEST(MessageStreamTest, TheLengthIsInNetworkOrder) {
  EXPECT_EQ(FrameMessage(FakeMessage{std::string(0x102, 'x')}).substr(0, 5),
            std::string("\0\0\1\2x", 5));
}

TEST(MessageStreamTest, AMessageThatCannotBeEncodedIsEmpty) {
  EXPECT_EQ(FrameMessage(FakeMessage{"x", false}), "");
}

TEST(MessageStreamTest, MessagesMayArriveInAnyPieces) {
  const std::vector<std::string> messages = {"one", "", "three"};
  std::string stream;
  for (const std::string& m : messages) stream += FrameMessage(FakeMessage{m});
  for (size_t step = 1; step <= stream.size(); ++step) {
    MessageReader reader(5);
    std::vector<std::string> taken;
    MessageReader::Next end;
    for (size_t at = 0; at < stream.size(); at += step) {
      reader.Append(std::string_view(stream).substr(at, step));
      for (std::string& m : TakeAll(&reader, &end)) {
        taken.push_back(std::move(m));
      }
      EXPECT_EQ(end, MessageReader::Next::kIncomplete);
    }
    EXPECT_EQ(taken, messages) << step;
  }
}

TEST(MessageStreamTest, ALongMessageIsRejectedByItsLength) {
  MessageReader reader(5);
  reader.Append(FrameMessage(FakeMessage{"short"}));
  reader.Append(std::string_view("\0\0\0\6", 4));
  MessageReader::Next end;
  EXPECT_EQ(TakeAll(&reader, &end), std::vector<std::string>{"short"});
  EXPECT_EQ(end, MessageReader::Next::kTooLong);
  reader.Append("more");
  EXPECT_EQ(TakeAll(&reader, &end), std::vector<std::string>());
  EXPECT_EQ(end, MessageReader::Next::kTooLong);
}

}  // namespace
}  // namespace canopy
