// The tools that come with OpenPMIx, by their names and with their options, as
// far as these can be honoured.
#ifndef CANOPY_CLIENT_TOOLS_REFERENCE_TOOLS_H_
#define CANOPY_CLIENT_TOOLS_REFERENCE_TOOLS_H_

#include <string>
#include <string_view>
#include <vector>

namespace canopy::tools {

// The tool that a program is whose path this is: "pps" of "/bin/canopy-pps".
// Empty: none.
std::string ReferenceName(std::string_view path);

// Returns the exit code of the process.
int RunReferenceTool(const std::string& name,
                     const std::vector<std::string>& args);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_REFERENCE_TOOLS_H_
