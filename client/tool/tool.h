// PMIx_tool_init and related functions (PMIx Standard, chapter "Tools and
// Debuggers").
#ifndef CANOPY_CLIENT_TOOL_TOOL_H_
#define CANOPY_CLIENT_TOOL_TOOL_H_

#include <cstddef>
#include <functional>

#include "pmix.h"

namespace canopy::client {

// Implements PMIx_tool_init. Its calls and those of PMIx_Init are counted
// together. Any thread. A launched process that chooses neither a server nor a
// name is the tool that its launcher has named. If another tool has started
// this one, the environment variables of that tool are followed (initiator.h);
// an error there fails the call.
int InitTool(pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo);

// Implements PMIx_tool_finalize. Returns PMIX_ERR_INIT unless InitTool was
// called more often than FinalizeTool, and PMIX_ERR_WOULD_BLOCK in a callback.
// Other roles of this process do not end.
int FinalizeTool();

// Sets a function that the last FinalizeTool calls first, once. It ends parts
// of the process that depend on the tool. It returns false if the caller must
// not wait for that end, and then FinalizeTool returns PMIX_ERR_WOULD_BLOCK.
// Any thread.
void SetToolEnd(std::function<bool()> end);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_TOOL_H_
