#include "server/pmi/message.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::pmi {
namespace {

TEST(MessageTest, ALineIsReturnedWhenItsEndHasArrived) {
  EXPECT_EQ(FirstMessage(false, "cmd=x").size, 0u);
  const Message message = FirstMessage(false, "cmd=x\ncmd=y\n");
  EXPECT_EQ(message.text, "cmd=x");
  EXPECT_EQ(message.size, 6u);
  EXPECT_TRUE(message.is_line);
  EXPECT_EQ(RequestIn(message).name, "x");
}

TEST(MessageTest, ALineOverTheLimitIsReportedEvenBeforeItEnds) {
  const std::string line(kMaxLine, 'x');
  EXPECT_EQ(FirstMessage(false, line).problem, nullptr);
  EXPECT_EQ(FirstMessage(false, line + "\n").size, kMaxLine + 1);
  EXPECT_NE(FirstMessage(false, line + "x").problem, nullptr);
  EXPECT_NE(FirstMessage(false, line + "x\n").problem, nullptr);
}

TEST(MessageTest, AHeaderDeterminesTheSizeOfItsMessage) {
  EXPECT_EQ(FirstMessage(true, "    6").wanted, 0u);
  Message message = FirstMessage(true, "     6cmd=");
  EXPECT_EQ(message.size, 0u);
  EXPECT_EQ(message.wanted, 12u);
  message = FirstMessage(true, "     6cmd=x;     6");
  EXPECT_EQ(message.size, 12u);
  EXPECT_EQ(message.text, "cmd=x;");
  EXPECT_FALSE(message.is_line);
  EXPECT_EQ(RequestIn(message).name, "x");
}

TEST(MessageTest, AMalformedHeaderIsReported) {
  EXPECT_NE(FirstMessage(true, "hello world").problem, nullptr);
  EXPECT_NE(FirstMessage(true, "999999").problem, nullptr);
  EXPECT_NE(FirstMessage(true, "     0").problem, nullptr);
}

TEST(MessageTest, ASecondInitOfVersion2IsReadAsALine) {
  const Message message =
      FirstMessage(true, "cmd=init pmi_version=2 pmi_subversion=0\n");
  EXPECT_TRUE(message.is_line);
  EXPECT_EQ(RequestIn(message).operation, Operation::kInit);
}

}  // namespace
}  // namespace canopy::pmi
