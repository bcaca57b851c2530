// Hints for spawned processes on a command line: "--pmi-KEY=VALUE".
#ifndef CANOPY_CLIENT_PMI_COMMAND_LINE_H_
#define CANOPY_CLIENT_PMI_COMMAND_LINE_H_

#include "client/pmi/key_values.h"

namespace canopy::pmi {

// One line about the options, for users.
inline constexpr char kOptionsText[] =
    "--pmi-KEY=VALUE  a hint for spawned processes, such as host or wdir";

// The options at the beginning of the arguments, up to the first other one.
KeyValues LeadingOptions(int argc, const char* const* argv);

// All options; what is not one moves to the front, and `*argc` becomes its
// number. What is left behind it is not touched.
KeyValues ExtractOptions(int* argc, char** argv);

}  // namespace canopy::pmi

#endif  // CANOPY_CLIENT_PMI_COMMAND_LINE_H_
