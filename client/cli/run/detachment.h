// Lets the launcher of `canopy run --detach` continue in the background.
#ifndef CANOPY_CLIENT_CLI_RUN_DETACHMENT_H_
#define CANOPY_CLIENT_CLI_RUN_DETACHMENT_H_

#include <sys/types.h>

#include "client/cli/run/output_file.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::cli {

// The state of one of the two processes after Detach.
struct Detachment {
  bool is_launcher = false;
  // The launcher writes the job's name into this pipe once; the original
  // command reads it.
  UniqueFd name;
  pid_t launcher = 0;
};

// Forks. The child becomes the launcher, in a new session, with an empty
// standard input and with `output` as standard output and error. The process
// must have only one thread. Returns kErrJobSysOpFailed in the caller if there
// is no launcher, and in the launcher if it cannot redirect its streams. In the
// second case the launcher must end, and AwaitName prints what it has written.
Result<Detachment> Detach(const OutputFile& output);

// Called in the original command. Waits until the launcher knows the job's
// name, and prints the name, with `json` as a document. If the launcher ends
// first, prints what it has written to `output`, and discards `output`
// (OutputFile::Discard). Returns the exit code.
int AwaitName(const OutputFile& output, const Detachment& detachment,
              bool json);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_DETACHMENT_H_
