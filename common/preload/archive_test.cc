#include "common/preload/archive.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/posix/remove_tree.h"

namespace canopy::preload {
namespace {

namespace fs = std::filesystem;

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() {
    char name[] = "/tmp/canopy-archive-XXXXXX";
    top_ = mkdtemp(name);
    to_ = top_ + "/to";
    fs::create_directory(to_);
  }
  ~ArchiveTest() override { EXPECT_TRUE(RemoveTree(top_, 1000).ok()); }

  std::string Make(const std::string& name, const std::string& content,
                   mode_t mode = 0644) {
    const std::string path = top_ + "/" + name;
    std::ofstream(path) << content;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string Content(const std::string& name) const {
    std::ifstream in(to_ + "/" + name);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  mode_t Mode(const std::string& name) const {
    struct stat info = {};
    EXPECT_EQ(stat((to_ + "/" + name).c_str(), &info), 0) << name;
    return info.st_mode & 07777;
  }
  static std::string Pack(const std::vector<Item>& items, size_t max = 300) {
    ArchiveSource source(items);
    EXPECT_TRUE(source.Check().ok());
    std::string all;
    for (;;) {
      Result<std::string> piece = source.Next(max);
      EXPECT_TRUE(piece.ok());
      if (!piece.ok() || piece->empty()) return all;
      EXPECT_LE(piece->size(), max);
      all += *piece;
    }
  }

  std::string top_, to_;
};

TEST_F(ArchiveTest, FilesArriveWithTheirPermissions) {
  const std::string large(100000, 'x');
  const std::string bytes =
      Pack({{"files/d/e/large", Make("large", large, 0444)},
            {"files/empty", Make("empty", "")},
            {"programs/0/run", Make("run", "#!/bin/sh\n", 0755)}});
  for (const size_t step : {size_t{1}, size_t{7}, bytes.size()}) {
    fs::remove_all(to_ + "/files");
    fs::remove_all(to_ + "/programs");
    Unpacker unpacker(to_);
    for (size_t i = 0; i < bytes.size(); i += step) {
      EXPECT_FALSE(unpacker.done());
      ASSERT_TRUE(unpacker.Take(bytes.substr(i, step)).ok());
    }
    EXPECT_TRUE(unpacker.done());
    EXPECT_EQ(Content("files/d/e/large"), large);
    EXPECT_EQ(Mode("files/d/e/large"), 0400u);
    EXPECT_EQ(Mode("files/empty"), 0600u);
    EXPECT_EQ(Mode("programs/0/run"), 0700u);
    EXPECT_FALSE(unpacker.Take("x").ok()) << "more than all";
  }
}

TEST_F(ArchiveTest, AnUnreadableFileIsReportedBeforeTheTransfer) {
  const auto check = [](const Item& item) {
    return ArchiveSource({item}).Check();
  };
  const std::string plain = Make("plain", "x");
  EXPECT_EQ(check({"files/x", top_ + "/none"}).code(), kErrJobFailedToLaunch);
  EXPECT_EQ(check({"files/x", top_}).code(), kErrJobFailedToLaunch);
  EXPECT_EQ(check({"files/x", "/dev/zero"}).code(), kErrJobFailedToLaunch);
  EXPECT_EQ(check({"programs/0/x", top_ + "/none"}).code(), kErrJobExeNotFound);
  EXPECT_EQ(check({"programs/0/x", plain}).code(), kErrJobAppNotExecutable);
  EXPECT_EQ(check({"programs/0/plain", "plain", "/bin:" + top_}).code(),
            kErrJobAppNotExecutable);
  EXPECT_EQ(check({"programs/0/none", "none", "/bin:" + top_}).code(),
            kErrJobExeNotFound);
  const Status status = check({"files/x", top_ + "/none"});
  EXPECT_NE(status.message().find(top_ + "/none"), std::string::npos);
}

TEST_F(ArchiveTest, AProgramIsSearchedInPath) {
  Make("tool", "here", 0755);
  const std::string bytes = Pack({{"programs/0/tool", "tool", "/bin:.", top_}});
  Unpacker unpacker(to_);
  ASSERT_TRUE(unpacker.Take(bytes).ok());
  EXPECT_EQ(Content("programs/0/tool"), "here");
}

TEST_F(ArchiveTest, AProgramIsSearchedInTheWorkingDirectoryAfterPath) {
  Make("tool", "here", 0755);
  fs::create_directory(top_ + "/bin");
  Make("bin/other", "of PATH", 0755);
  Make("other", "here", 0755);
  const std::string bytes = Pack({{"programs/0/tool", "tool", "bin", top_},
                                  {"programs/1/other", "other", "bin", top_}});
  Unpacker unpacker(to_);
  ASSERT_TRUE(unpacker.Take(bytes).ok());
  EXPECT_EQ(Content("programs/0/tool"), "here");
  EXPECT_EQ(Content("programs/1/other"), "of PATH");
}

TEST_F(ArchiveTest, AFileThatShrinksIsAnError) {
  const std::string path = Make("f", std::string(1000, 'x'));
  ArchiveSource source({{"files/f", path}});
  std::string got;
  for (int i = 0; i < 3; ++i) got += *source.Next(300);
  fs::resize_file(path, 100);
  Result<std::string> rest = source.Next(300);
  EXPECT_FALSE(rest.ok());
}

TEST_F(ArchiveTest, NamesOutsideTheDirectoryAreRejected) {
  for (const std::string name : {"../x", "/tmp/x", "a/../../x", "a//b"}) {
    std::string bytes(kMagic);
    bytes += EncodeHead({static_cast<uint32_t>(name.size()), 0600, 1}) + name;
    EXPECT_EQ(Unpacker(to_).Take(bytes + "x").code(), kErrUnpackFailure);
  }
  EXPECT_FALSE(fs::exists(top_ + "/x"));
}

TEST_F(ArchiveTest, ExistingFilesAndLinksAreNotOverwritten) {
  const std::string bytes = Pack({{"x", Make("x", "new")}});
  std::ofstream(to_ + "/x") << "old";
  EXPECT_EQ(Unpacker(to_).Take(bytes).code(), kErrJobFailedToLaunch);
  EXPECT_EQ(Content("x"), "old");
  fs::remove(to_ + "/x");
  fs::create_symlink(top_ + "/elsewhere", to_ + "/x");
  EXPECT_EQ(Unpacker(to_).Take(bytes).code(), kErrJobFailedToLaunch);
  EXPECT_FALSE(fs::exists(top_ + "/elsewhere"));
}

TEST_F(ArchiveTest, NamesAreBounded) {
  const std::string bytes =
      std::string(kMagic) + EncodeHead({4096, 0600, 1}) + "x";
  EXPECT_EQ(Unpacker(to_).Take(bytes).code(), kErrUnpackFailure);
  EXPECT_EQ(Unpacker(to_).Take("no such stream").code(), kErrUnpackFailure);
}

}  // namespace
}  // namespace canopy::preload
