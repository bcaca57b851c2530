// PMIx_tool_init and what belongs to it (chapter "Tools and Debuggers").
#ifndef CANOPY_CLIENT_TOOL_TOOL_H_
#define CANOPY_CLIENT_TOOL_TOOL_H_

#include <cstddef>
#include <functional>

#include "pmix.h"

namespace canopy::client {

// Counted together with PMIx_Init; any thread. A process that was launched, and
// that does not choose a server, is the tool that its launcher has named. What
// a tool that has started this one has left in the environment is followed
// (initiator.h); when that fails, so does this.
int InitTool(pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo);

// PMIx_tool_finalize: PMIX_ERR_INIT unless InitTool has been called more often.
// The end of another role of this process is not the end of this one.
int FinalizeTool();

// What the last FinalizeTool begins with, once: the end of what depends on the
// tool. It says false where the caller may not wait for it, which makes that
// call PMIX_ERR_WOULD_BLOCK. Any thread.
void SetToolEnd(std::function<bool()> end);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_TOOL_H_
