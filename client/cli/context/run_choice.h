// Chooses one of several jobs of `canopy run` for a command that does not name
// a context.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_RUN_CHOICE_H_
#define CANOPY_CLIENT_CLI_CONTEXT_RUN_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// The place where a command was typed.
struct CommandPlace {
  int64_t session = 0;    // getsid: shared by all processes of one terminal
  std::string directory;  // working directory; empty: unknown
};

// Returns the place of this process.
CommandPlace PlaceHere();

// Returns the description of this launcher for its context. `command` is the
// program and its arguments, in any bytes; the description contains a short and
// printable form of it.
v1::Launcher DescribeLauncher(const std::string& command);

// Returns the index of the run to which a command at `here` refers: the only
// run; else the only run of the same session; else the only run with the same
// working directory, among the runs of the same session or, if there are none,
// among all. `runs` is not empty. Returns kErrBadParam with a list if several
// remain.
Result<size_t> ChooseRun(std::span<const v1::Context> runs,
                         const CommandPlace& here);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_RUN_CHOICE_H_
