#include "common/loader/elf_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "common/loader/elf_builder.h"

namespace canopy::loader {
namespace {

using ::testing::Test;

class ElfFileTest : public Test {
 protected:
  std::string Path(const std::string& name) const {
    return testing::TempDir() + name;
  }

  Result<ElfFile> OpenBytes(const std::string& bytes) const {
    std::ofstream(Path("file"), std::ios::binary) << bytes;
    return ElfFile::Open(Path("file"));
  }
};

ElfSpec Library() {
  ElfSpec spec;
  spec.soname = "liba.so.1";
  spec.needed = {"libb.so", "libc.so.6"};
  spec.rpath = "/one:/two";
  spec.defined = {"a", "b", "c"};
  spec.wanted = {"x", "y"};
  spec.weak = {"w"};
  spec.version_needs = {{"libc.so.6", {"GLIBC_2.2.5", "GLIBC_2.34"}},
                        {"libb.so", {"B_1"}}};
  spec.versions = {"A_1", "A_2"};
  return spec;
}

std::vector<std::string> Texts(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

class ElfFileFormTest : public ElfFileTest,
                        public testing::WithParamInterface<int> {};

TEST_P(ElfFileFormTest, ReadsTheEntriesThatTheLoaderUses) {
  for (const bool gnu_hash : {true, false}) {
    ElfSpec spec = Library();
    spec.bits = GetParam();
    spec.gnu_hash = gnu_hash;
    const Result<ElfFile> file = OpenBytes(BuildElf(spec));
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->bits(), GetParam());
    EXPECT_EQ(file->machine(), EM_X86_64);
    EXPECT_TRUE(file->dynamic());
    EXPECT_EQ(file->soname(), spec.soname);
    EXPECT_EQ(file->needed(), spec.needed);
    EXPECT_EQ(file->rpath(), spec.rpath);
    EXPECT_EQ(file->versions(), spec.versions);
    ASSERT_EQ(file->version_needs().size(), 2u);
    EXPECT_EQ(file->version_needs()[0].library, "libc.so.6");
    EXPECT_EQ(file->version_needs()[0].versions,
              spec.version_needs[0].versions);
    const Result<SymbolNames> symbols = file->ReadSymbols();
    ASSERT_TRUE(symbols.ok());
    EXPECT_EQ(Texts(symbols->defined), spec.defined);
    EXPECT_EQ(Texts(symbols->wanted), spec.wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, ElfFileFormTest, testing::Values(32, 64));

TEST_F(ElfFileTest, ReadsThisProgram) {
  const Result<ElfFile> file = ElfFile::Open("/proc/self/exe");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_FALSE(file->interpreter().empty());
  const Result<SymbolNames> symbols = file->ReadSymbols();
  ASSERT_TRUE(symbols.ok());
  EXPECT_FALSE(symbols->wanted.empty());
}

TEST_F(ElfFileTest, RunpathOverridesRpath) {
  ElfSpec spec = Library();
  spec.runpath = "/three";
  const Result<ElfFile> file = OpenBytes(BuildElf(spec));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->rpath(), "");
  EXPECT_EQ(file->runpath(), "/three");
}

TEST_F(ElfFileTest, AStaticProgramHasNothingToLoad) {
  ElfSpec spec;
  spec.dynamic = false;
  const Result<ElfFile> file = OpenBytes(BuildElf(spec));
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->dynamic());
  EXPECT_TRUE(file->ReadSymbols()->wanted.empty());
}

TEST_F(ElfFileTest, AFileOfAnotherByteOrderHasWordSizeZero) {
  std::string bytes = BuildElf(Library());
  bytes[EI_DATA] = ELFDATA2MSB;
  const Result<ElfFile> file = OpenBytes(bytes);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bits(), 0);
}

TEST_F(ElfFileTest, RejectsFilesThatAreNotElf) {
  EXPECT_EQ(OpenBytes("#!/bin/sh\nexit 0\n").code(), kErrNotFound);
  EXPECT_EQ(OpenBytes("").code(), kErrNotFound);
  EXPECT_EQ(ElfFile::Open(Path("absent")).code(), kErrNotFound);
  EXPECT_EQ(ElfFile::Open(testing::TempDir()).code(), kErrNotFound);
}

TEST_F(ElfFileTest, DoesNotWaitForAPipe) {
  const std::string path = Path("pipe");
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ElfFile::Open(path).code(), kErrNotFound);
}

// Wherever a file is cut off, the result is an error or less data, and no
// overrun.
TEST_F(ElfFileTest, ATruncatedFileIsReadWithoutAnOverrun) {
  const std::string whole = BuildElf(Library());
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<ElfFile> file = OpenBytes(whole.substr(0, size));
    if (file.ok()) (void)file->ReadSymbols();
  }
}

TEST_F(ElfFileTest, TheStampChangesWhenTheFileIsReplaced) {
  const std::string path = Path("stamped");
  EXPECT_EQ(StampOf(Path("absent")), FileStamp());
  WriteElf(path, Library());
  const FileStamp before = StampOf(path);
  EXPECT_NE(before, FileStamp());
  EXPECT_EQ(StampOf(path), before);
  ASSERT_EQ(rename(path.c_str(), Path("moved").c_str()), 0);
  WriteElf(path, Library());
  EXPECT_NE(StampOf(path), before);
}

}  // namespace
}  // namespace canopy::loader
