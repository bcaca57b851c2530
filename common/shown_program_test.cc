#include "common/shown_program.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy {
namespace {

TEST(ShownProgramTest, ACopiedProgramIsShownByItsName) {
  EXPECT_EQ(ShownProgram(std::string(kCopiedBelow) + "programs/1/a.out"),
            "a.out");
  EXPECT_EQ(ShownProgram("../b/a.out"), "../b/a.out");
  EXPECT_EQ(ShownProgram(""), "");
}

}  // namespace
}  // namespace canopy
