#include "client/pmi/command_line.h"

#include <gtest/gtest.h>

namespace canopy::pmi {
namespace {

TEST(CommandLineTest, LeadingOptionsReturnsOptionsBeforeTheProgram) {
  const char* argv[] = {"--pmi-host=a,b", "--pmi-wdir=", "run", "--pmi-x=1"};
  const KeyValues expected = {{"host", "a,b"}, {"wdir", ""}};
  EXPECT_EQ(LeadingOptions(4, argv), expected);
  EXPECT_EQ(LeadingOptions(0, argv), KeyValues());
}

TEST(CommandLineTest, ExtractOptionsRemovesOptionsFromAllArguments) {
  char program[] = "run";
  char host[] = "--pmi-host=a";
  char bare[] = "--pmi-host";
  char nameless[] = "--pmi-=x";
  char file[] = "file";
  char wdir[] = "--pmi-wdir=/tmp=x";
  char* argv[] = {program, host, bare, nameless, file, wdir, nullptr};
  int argc = 6;
  const KeyValues expected = {{"host", "a"}, {"wdir", "/tmp=x"}};
  EXPECT_EQ(ExtractOptions(&argc, argv), expected);
  ASSERT_EQ(argc, 4);
  EXPECT_EQ(argv[0], program);
  EXPECT_EQ(argv[1], bare);
  EXPECT_EQ(argv[2], nameless);
  EXPECT_EQ(argv[3], file);
}

}  // namespace
}  // namespace canopy::pmi
