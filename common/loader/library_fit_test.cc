#include "common/loader/library_fit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/loader/elf_builder.h"

namespace canopy::loader {
namespace {

constexpr char kGlibcLoader[] = "/lib64/ld-linux-x86-64.so.2";

// A file system below a temporary directory: PREFIX/canopy contains Canopy's
// library, PREFIX/own the program's.
class LibraryFitTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "fit-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    for (const char* directory : {"canopy", "own", "lib", "bin"}) {
      std::filesystem::create_directory(At(directory));
    }
    ElfSpec libc;
    libc.soname = "libc.so.6";
    libc.versions = {"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.36"};
    libc.defined = {"printf"};
    WriteElf(At("lib/libc.so.6"), libc);
    ElfSpec pmix;
    pmix.soname = "libpmix.so.2";
    pmix.needed = {"libc.so.6"};
    pmix.version_needs = {{"libc.so.6", {"GLIBC_2.2.5", "GLIBC_2.34"}}};
    pmix.defined = {"PMIx_Init", "PMIx_Get"};
    WriteElf(At("canopy/libpmix.so.2"), pmix);
    pmix.defined.emplace_back("pmix_extra");
    WriteElf(At("own/libpmix.so.2"), pmix);
  }

  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string At(const std::string& name) const { return root_ + "/" + name; }

  static ElfSpec Program() {
    ElfSpec program;
    program.interpreter = kGlibcLoader;
    program.needed = {"libpmix.so.2", "libc.so.6"};
    program.wanted = {"PMIx_Init", "printf"};
    return program;
  }

  LibraryFinding Ask(const ElfSpec& program) {
    WriteElf(At("bin/program"), program);
    return AskFor(At("bin/program"));
  }

  LibraryFinding AskFor(const std::string& path) const {
    LibraryQuestion question;
    question.program = path;
    question.library = At("canopy/libpmix.so.2");
    question.own.library_path = At("own") + ":" + At("lib");
    question.injected.library_path =
        At("canopy") + ":" + question.own.library_path;
    return FindLibraryFit(question);
  }

  std::string root_;
};

TEST_F(LibraryFitTest, OurLibraryHasAllRequiredSymbols) {
  const LibraryFinding finding = Ask(Program());
  EXPECT_EQ(finding.fit, LibraryFit::kFits);
  EXPECT_EQ(finding.reason, "");
  EXPECT_TRUE(IsCurrent(finding));
}

TEST_F(LibraryFitTest, ReportsASymbolThatTheProgramWouldMiss) {
  ElfSpec program = Program();
  program.wanted.emplace_back("pmix_extra");
  const LibraryFinding finding = Ask(program);
  EXPECT_EQ(finding.fit, LibraryFit::kLacksSymbols);
  EXPECT_EQ(finding.reason,
            At("bin/program") + " runs with " + At("own/libpmix.so.2") +
                ": program needs pmix_extra, which Canopy's libpmix lacks");
}

TEST_F(LibraryFitTest, ReportsASymbolThatAnIndirectLibraryWouldMiss) {
  ElfSpec deep;
  deep.soname = "libdeep.so.1";
  deep.needed = {"libpmix.so.2"};
  deep.wanted = {"pmix_extra"};
  WriteElf(At("own/libdeep.so.1"), deep);
  ElfSpec middle;
  middle.soname = "libmiddle.so.1";
  middle.needed = {"libdeep.so.1"};
  WriteElf(At("own/libmiddle.so.1"), middle);
  ElfSpec program = Program();
  program.needed = {"libmiddle.so.1", "libc.so.6"};
  const LibraryFinding finding = Ask(program);
  EXPECT_EQ(finding.fit, LibraryFit::kLacksSymbols);
  EXPECT_NE(finding.reason.find("libdeep.so.1 needs pmix_extra"),
            std::string::npos)
      << finding.reason;
}

TEST_F(LibraryFitTest, AWeakSymbolMayBeMissing) {
  ElfSpec program = Program();
  program.weak = {"pmix_extra"};
  EXPECT_EQ(Ask(program).fit, LibraryFit::kFits);
}

TEST_F(LibraryFitTest, ASymbolThatAnotherLibraryHasIsNotMissing) {
  ElfSpec other;
  other.soname = "libother.so";
  other.defined = {"pmix_extra"};
  WriteElf(At("own/libother.so"), other);
  ElfSpec program = Program();
  program.needed.emplace_back("libother.so");
  program.wanted.emplace_back("pmix_extra");
  EXPECT_EQ(Ask(program).fit, LibraryFit::kFits);
}

// The program uses a symbol of libevent without being linked with libevent. It
// gets the symbol because its own libpmix loads libevent.
TEST_F(LibraryFitTest, ASymbolOfADependencyOfTheOwnLibraryIsMissing) {
  ElfSpec event;
  event.soname = "libevent.so";
  event.defined = {"event_loop"};
  WriteElf(At("own/libevent.so"), event);
  ElfSpec pmix;
  pmix.soname = "libpmix.so.2";
  pmix.needed = {"libevent.so"};
  pmix.defined = {"PMIx_Init"};
  WriteElf(At("own/libpmix.so.2"), pmix);
  ElfSpec program = Program();
  program.wanted = {"event_loop"};
  EXPECT_EQ(Ask(program).fit, LibraryFit::kLacksSymbols);
}

TEST_F(LibraryFitTest, RpathDecidesBeforeTheEnvironment) {
  ElfSpec program = Program();
  program.rpath = "$ORIGIN/../own";
  program.wanted.emplace_back("pmix_extra");
  EXPECT_EQ(Ask(program).fit, LibraryFit::kOwnPlace);
}

TEST_F(LibraryFitTest, TheRpathOfTheProgramAppliesToItsLibrariesToo) {
  ElfSpec middle;
  middle.soname = "libmiddle.so.1";
  middle.needed = {"libpmix.so.2"};
  WriteElf(At("own/libmiddle.so.1"), middle);
  ElfSpec program = Program();
  program.needed = {"libmiddle.so.1", "libc.so.6"};
  program.rpath = At("own");
  EXPECT_EQ(Ask(program).fit, LibraryFit::kOwnPlace);
}

TEST_F(LibraryFitTest, RunpathComesAfterTheEnvironment) {
  std::filesystem::create_directory(At("private"));
  std::filesystem::rename(At("own/libpmix.so.2"), At("private/libpmix.so.2"));
  ElfSpec program = Program();
  program.runpath = "${ORIGIN}/../private";
  EXPECT_EQ(Ask(program).fit, LibraryFit::kFits);
  program.wanted.emplace_back("pmix_extra");
  EXPECT_EQ(Ask(program).fit, LibraryFit::kLacksSymbols);
}

TEST_F(LibraryFitTest, APreloadedLibraryPrecedesAnRpath) {
  ElfSpec program = Program();
  program.rpath = At("own");
  program.wanted.emplace_back("pmix_extra");
  WriteElf(At("bin/program"), program);
  LibraryQuestion question;
  question.program = At("bin/program");
  question.library = At("canopy/libpmix.so.2");
  question.own.library_path = At("lib");
  question.injected = question.own;
  question.injected.preload = At("canopy/libpmix.so.2");
  EXPECT_EQ(FindLibraryFit(question).fit, LibraryFit::kLacksSymbols);
}

TEST_F(LibraryFitTest, RejectsACLibraryOlderThanOursNeeds) {
  ElfSpec libc;
  libc.soname = "libc.so.6";
  libc.versions = {"GLIBC_2.2.5", "GLIBC_2.9", "GLIBC_2.31"};
  WriteElf(At("lib/libc.so.6"), libc);
  const LibraryFinding finding = Ask(Program());
  EXPECT_EQ(finding.fit, LibraryFit::kCannotLoad);
  EXPECT_NE(finding.reason.find("needs GLIBC_2.34, " + At("lib/libc.so.6") +
                                " has only GLIBC_2.31"),
            std::string::npos)
      << finding.reason;
}

// musl has no versions of symbols. Its libc.so.6 is part of its loader, so a
// file of this name beside the program is not the program's C library.
TEST_F(LibraryFitTest, ProgramsOfMuslLoadOurLibrary) {
  ElfSpec libc;
  libc.soname = "libc.so.6";
  libc.versions = {"GLIBC_2.2.5"};
  WriteElf(At("lib/libc.so.6"), libc);
  ElfSpec program = Program();
  program.interpreter = "/lib/ld-musl-x86_64.so.1";
  EXPECT_EQ(Ask(program).fit, LibraryFit::kFits);
  program.wanted.emplace_back("pmix_extra");
  EXPECT_EQ(Ask(program).fit, LibraryFit::kLacksSymbols);
}

// The machine's index of libraries is that of glibc.
TEST_F(LibraryFitTest, ProgramsOfMuslDoNotUseTheIndexOfLibraries) {
  ElfSpec program = Program();
  program.needed = {"libpmix.so.2", "libstdc++.so.6"};
  program.wanted = {"PMIx_Init"};
  WriteElf(At("bin/program"), program);
  LinkResolver resolver("");
  const auto glibc = resolver.Resolve(At("bin/program"), {});
  program.interpreter = "/lib/ld-musl-x86_64.so.1";
  WriteElf(At("bin/musl"), program);
  const auto musl = resolver.Resolve(At("bin/musl"), {});
  ASSERT_TRUE(glibc.ok() && musl.ok());
  EXPECT_NE(glibc->Find("libstdc++.so.6"), nullptr);
  EXPECT_EQ(musl->Find("libstdc++.so.6"), nullptr);
}

TEST_F(LibraryFitTest, ProgramsOfOtherMachinesCannotLoadOurLibrary) {
  ElfSpec program = Program();
  program.bits = 32;
  program.machine = EM_386;
  program.interpreter = "/lib/ld-linux.so.2";
  const LibraryFinding finding = Ask(program);
  EXPECT_EQ(finding.fit, LibraryFit::kCannotLoad);
  program.bits = 64;
  program.machine = EM_AARCH64;
  EXPECT_EQ(Ask(program).fit, LibraryFit::kCannotLoad);
}

// A program that does not load a libpmix at its start loses nothing if it
// cannot load Canopy's, so no reason is reported.
TEST_F(LibraryFitTest, AProgramThatDoesNotLinkLibpmixGetsNoReason) {
  ElfSpec program = Program();
  program.needed = {"libc.so.6"};
  EXPECT_EQ(Ask(program).fit, LibraryFit::kNotLinked);
  program.machine = EM_AARCH64;
  const LibraryFinding finding = Ask(program);
  EXPECT_EQ(finding.fit, LibraryFit::kCannotLoad);
  EXPECT_EQ(finding.reason, "");
}

TEST_F(LibraryFitTest, RecognisesStaticProgramsAndScripts) {
  ElfSpec program;
  program.dynamic = false;
  EXPECT_EQ(Ask(program).fit, LibraryFit::kStatic);
  std::ofstream(At("bin/script")) << "#!/bin/sh\n";
  EXPECT_EQ(AskFor(At("bin/script")).fit, LibraryFit::kUnknown);
  EXPECT_EQ(AskFor(At("bin/absent")).fit, LibraryFit::kUnknown);
}

TEST_F(LibraryFitTest, AProgramWithoutALibraryOfItsOwnFits) {
  std::filesystem::remove(At("own/libpmix.so.2"));
  ElfSpec program = Program();
  program.needed = {"libpmix.so.2", "libc.so.6"};
  program.no_default_directories = true;
  EXPECT_EQ(Ask(program).fit, LibraryFit::kFits);
}

TEST_F(LibraryFitTest, AFindingIsCurrentWhileItsEvidenceIsUnchanged) {
  const LibraryFinding finding = Ask(Program());
  ASSERT_TRUE(IsCurrent(finding));
  LibraryFinding copy;
  ASSERT_TRUE(DecodeFinding(EncodeFinding(finding), &copy));
  EXPECT_TRUE(IsCurrent(copy));
  EXPECT_EQ(copy.fit, finding.fit);
  EXPECT_EQ(copy.details, finding.details);
  // From now on another library is found first.
  WriteElf(At("canopy/libc.so.6"), ElfSpec());
  EXPECT_FALSE(IsCurrent(finding));
}

TEST_F(LibraryFitTest, AFindingIsNotCurrentForAnotherFileOfTheProgram) {
  const LibraryFinding finding = Ask(Program());
  WriteElf(At("bin/other"), Program());
  std::filesystem::rename(At("bin/other"), At("bin/program"));
  EXPECT_FALSE(IsCurrent(finding));
}

TEST_F(LibraryFitTest, ExaminesARealProgramOfThisMachine) {
  LibraryQuestion question;
  question.program = "/proc/self/exe";
  question.library = At("canopy/libpmix.so.2");
  question.injected.library_path = At("canopy");
  const LibraryFinding finding = FindLibraryFit(question);
  EXPECT_EQ(finding.fit, LibraryFit::kNotLinked);
}

}  // namespace
}  // namespace canopy::loader
