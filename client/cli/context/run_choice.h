// Which of several jobs of `canopy run` a command is about that names none.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_RUN_CHOICE_H_
#define CANOPY_CLIENT_CLI_CONTEXT_RUN_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// Where a command was typed.
struct CommandPlace {
  int64_t session = 0;    // getsid; one for all that one terminal controls
  std::string directory;  // working directory; empty: not known
};

// That of this process.
CommandPlace PlaceHere();

// How `canopy run` describes itself in its context. `command`: the program and
// its arguments, any bytes; what is kept of it is short and printable.
v1::Launcher DescribeLauncher(const std::string& command);

// The index of the run that is meant in `here`: the only one; else the one of
// the same session; else, among those of the same session or, if there are
// none, among all, the one with the same working directory. `runs` is not
// empty. kErrBadParam: several are left, and the message lists them.
Result<size_t> ChooseRun(std::span<const v1::Context> runs,
                         const CommandPlace& here);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_RUN_CHOICE_H_
