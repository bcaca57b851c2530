// The states of processes in words.
#ifndef CANOPY_CLIENT_TOOLS_PROCESS_STATE_H_
#define CANOPY_CLIENT_TOOLS_PROCESS_STATE_H_

#include <string>

#include "pmix_types.h"

namespace canopy::tools {

// Returns "running", "in MPI" after MPI_Init or PMIx_Init, "exited 3" and so
// on. `os_state` is the kernel's letter for the state, such as 'T' for a
// stopped process; 0: not known.
std::string StateText(const pmix_proc_info_t& process, char os_state);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_PROCESS_STATE_H_
