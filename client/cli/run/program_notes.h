// Text about the nodes' findings on a job's programs.
#ifndef CANOPY_CLIENT_CLI_RUN_PROGRAM_NOTES_H_
#define CANOPY_CLIENT_CLI_RUN_PROGRAM_NOTES_H_

#include <cstddef>
#include <string>

#include "protos/control.pb.h"

namespace canopy::cli {

// Returns one line for the user of a job on `num_nodes` nodes: the reason why a
// program uses its own PMIx library, and the nodes. Returns an empty string if
// everything is as expected.
std::string NoteLine(const control::v1::ProgramNotes& notes, size_t num_nodes);

// Returns all notes as text, by node.
std::string NotesAtLength(const control::v1::ProgramNotes& notes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_PROGRAM_NOTES_H_
