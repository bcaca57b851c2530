#include "common/preload/preload_list.h"

#include <gtest/gtest.h>

#include "common/shown_program.h"

namespace canopy::preload {
namespace {

TEST(PreloadListTest, AnAbsoluteNameLosesItsDirectory) {
  List list;
  ASSERT_TRUE(list.AddFiles("/etc/passwd,data/./x,,y", "/home/me").ok());
  ASSERT_EQ(list.items().size(), 3u);
  EXPECT_EQ(list.items()[0], (Item{"files/passwd", "/etc/passwd"}));
  EXPECT_EQ(list.items()[1], (Item{"files/data/x", "/home/me/data/./x"}));
  EXPECT_EQ(list.items()[2], (Item{"files/y", "/home/me/y"}));
}

TEST(PreloadListTest, NamesOutsideTheDirectoryAreRejected) {
  for (const char* bad : {"../x", "a/../../x", "..", "/", ".", "/a/.."}) {
    List list;
    EXPECT_EQ(list.AddFiles(bad, "/home").code(), kErrBadParam) << bad;
  }
  for (const char* bad : {"", "/x", "a//b", "a/", "./a", "a/../b", ".."}) {
    EXPECT_FALSE(IsName(bad)) << bad;
  }
  EXPECT_FALSE(IsName(std::string_view("a\0b", 3)));
  EXPECT_FALSE(IsName(std::string(4096, 'x')));
  EXPECT_TRUE(IsName("files/.hidden/..x"));
}

TEST(PreloadListTest, TwoFilesOfOneNameAreRejected) {
  List list;
  ASSERT_TRUE(list.AddFiles("/a/x", "/").ok());
  EXPECT_TRUE(list.AddFiles("/a/x", "/").ok()) << "the same file";
  const Status status = list.AddFiles("/b/x", "/");
  EXPECT_EQ(status.code(), kErrBadParam);
  EXPECT_NE(status.message().find("/b/x"), std::string::npos);
  EXPECT_EQ(list.items().size(), 1u);
}

TEST(PreloadListTest, TheNumberOfFilesIsBounded) {
  List list;
  std::string names;
  for (size_t i = 0; i < kMaxItems; ++i) names += std::to_string(i) + ",";
  EXPECT_TRUE(list.AddFiles(names, "/").ok());
  EXPECT_EQ(list.AddFiles("more", "/").code(), kErrOutOfResource);
}

TEST(PreloadListTest, ProgramsKeepTheirSearchPath) {
  List list;
  ASSERT_TRUE(list.AddProgram(0, "./a.out", "/home/me", "/bin").ok());
  ASSERT_TRUE(list.AddProgram(1, "a.out", "/home/me", "/bin").ok());
  EXPECT_EQ(list.items()[0], (Item{"programs/0/a.out", "/home/me/./a.out"}));
  EXPECT_EQ(list.items()[1],
            (Item{"programs/1/a.out", "a.out", "/bin", "/home/me"}));
  EXPECT_EQ(list.AddProgram(2, "dir/", "/", "").code(), kErrBadParam);
}

TEST(PreloadListTest, ACopiedProgramHasAPlaceOnEachNode) {
  EXPECT_EQ(ResolveProgram(CopiedProgram(1, "../b/a.out"), "/tmp/n1/job"),
            "/tmp/n1/job/programs/1/a.out");
  EXPECT_EQ(ResolveProgram("/bin/true", "/tmp/n1/job"), "/bin/true");
}

TEST(PreloadListTest, ACopiedProgramIsShownByItsName) {
  EXPECT_EQ(ShownProgram(CopiedProgram(1, "../b/a.out")), "a.out");
}

}  // namespace
}  // namespace canopy::preload
