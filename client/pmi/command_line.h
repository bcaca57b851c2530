// Hints for spawned processes on a command line: "--pmi-KEY=VALUE".
#ifndef CANOPY_CLIENT_PMI_COMMAND_LINE_H_
#define CANOPY_CLIENT_PMI_COMMAND_LINE_H_

#include "client/pmi/key_values.h"

namespace canopy::pmi {

// One line about the options, for users.
inline constexpr char kOptionsText[] =
    "--pmi-KEY=VALUE  a hint for spawned processes, such as host or wdir";

// Returns the options at the beginning of the arguments, up to the first other
// argument.
KeyValues LeadingOptions(int argc, const char* const* argv);

// Removes and returns all options. Other arguments move to the front, and
// `*argc` becomes their number; the elements after them are unchanged.
KeyValues ExtractOptions(int* argc, char** argv);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_COMMAND_LINE_H_
