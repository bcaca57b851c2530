// Selects the findings about a job's programs that are reported.
#ifndef CANOPY_SERVER_PROCESS_PROGRAM_NOTES_H_
#define CANOPY_SERVER_PROCESS_PROGRAM_NOTES_H_

#include <string>
#include <vector>

#include "server/core/messages.h"

namespace canopy::process {

// Returns one note for each program that does not use Canopy's library although
// the owner of the job may expect that it does; with `explain`, one note for
// each program. Equal notes are merged. `findings` are encoded; malformed ones
// are ignored.
std::vector<core::ProgramNote> NotesOf(const std::vector<std::string>& findings,
                                       bool explain);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_PROGRAM_NOTES_H_
