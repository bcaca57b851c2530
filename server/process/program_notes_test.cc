#include "server/process/program_notes.h"

#include <gtest/gtest.h>

#include "common/loader/library_fit.h"

namespace canopy::process {
namespace {

std::string Finding(const std::string& reason) {
  loader::LibraryFinding finding;
  finding.reason = reason;
  finding.details = {{"program", "a\nb"}, {"finding", "runs"}};
  return loader::EncodeFinding(finding);
}

TEST(ProgramNotesTest, OnlyFindingsWithAReasonBecomeNotes) {
  EXPECT_TRUE(NotesOf({}, true).empty());
  EXPECT_TRUE(NotesOf({Finding("")}, false).empty());
  const auto notes =
      NotesOf({Finding("a lacks b"), "junk", Finding("a lacks b")}, false);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].reason, "a lacks b");
  EXPECT_EQ(notes[0].detail, "");
}

TEST(ProgramNotesTest, WithExplainEachFindingBecomesANoteWithDetails) {
  const auto notes = NotesOf({Finding(""), Finding("x")}, true);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].detail, "program: a b\nfinding: runs\n");
  EXPECT_EQ(notes[1].reason, "x");
}

TEST(ProgramNotesTest, TextsAreLimited) {
  loader::LibraryFinding finding;
  finding.reason = std::string(5000, 'x');
  for (int i = 0; i < 100; ++i) {
    finding.details.emplace_back("missing", std::string(2000, 'y'));
  }
  const auto notes = NotesOf({loader::EncodeFinding(finding)}, true);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].reason.size(), 1024u);
  EXPECT_LE(notes[0].detail.size(), 16400u);
  EXPECT_TRUE(notes[0].detail.ends_with("\n...\n"));
}

}  // namespace
}  // namespace canopy::process
