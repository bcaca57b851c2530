// What is passed on of what a shim found out about a job's programs.
#ifndef CANOPY_SERVER_PROCESS_PROGRAM_NOTES_H_
#define CANOPY_SERVER_PROCESS_PROGRAM_NOTES_H_

#include <string>
#include <vector>

#include "server/core/messages.h"

namespace canopy::process {

// One for each program that does not get Canopy's library although its owner
// may expect it; with `explain` one for each. Equal ones are one. `findings`
// are encoded; what can not be read is passed over.
std::vector<core::ProgramNote> NotesOf(const std::vector<std::string>& findings,
                                       bool explain);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_PROGRAM_NOTES_H_
