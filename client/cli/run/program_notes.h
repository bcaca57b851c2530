// What nodes found out about a job's programs, as text.
#ifndef CANOPY_CLIENT_CLI_RUN_PROGRAM_NOTES_H_
#define CANOPY_CLIENT_CLI_RUN_PROGRAM_NOTES_H_

#include <cstddef>
#include <string>

#include "protos/control.pb.h"

namespace canopy::cli {

// One line for the user of a job on so many nodes: why a program has its own
// PMIx library, and where; empty when all is as expected.
std::string NoteLine(const control::v1::ProgramNotes& notes, size_t num_nodes);

// All that was found, by node.
std::string NotesAtLength(const control::v1::ProgramNotes& notes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_PROGRAM_NOTES_H_
