#include "client/cli/run/program_notes.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

control::v1::ProgramNotes Notes() {
  control::v1::ProgramNotes notes;
  auto* note = notes.add_notes();
  note->set_reason("./a runs with /l/libpmix.so.2: why");
  note->add_detail("program: ./a");
  note->add_detail("finding: own");
  note->add_nodes("n1");
  note->add_nodes("n2");
  note->set_count(5);
  return notes;
}

TEST(ProgramNotesTest, ALineNamesTheReasonAndTheNodes) {
  control::v1::ProgramNotes notes = Notes();
  EXPECT_EQ(NoteLine({}, 3), "");
  EXPECT_EQ(NoteLine(notes, 5), "./a runs with /l/libpmix.so.2: why");
  EXPECT_EQ(NoteLine(notes, 9),
            "./a runs with /l/libpmix.so.2: why (on n1, n2 and 3 more)");
  notes.add_notes()->set_reason("another");
  notes.add_notes();
  EXPECT_EQ(NoteLine(notes, 5),
            "./a runs with /l/libpmix.so.2: why; and 1 other finding, see "
            "'canopy doctor PROGRAM'");
}

TEST(ProgramNotesTest, NotesAtLengthNameNodesProgramAndFinding) {
  EXPECT_EQ(NotesAtLength(Notes()),
            "on n1, n2 and 3 more:\n  program: ./a\n  finding: own\n");
}

}  // namespace
}  // namespace canopy::cli
