// Tools with the names of OpenPMIx's tools, and with the options of those tools
// that Canopy can honour.
#ifndef CANOPY_CLIENT_TOOLS_REFERENCE_TOOLS_H_
#define CANOPY_CLIENT_TOOLS_REFERENCE_TOOLS_H_

#include <string>
#include <string_view>
#include <vector>

namespace canopy::tools {

// Returns the name of the reference tool for a program's path: "pps" for
// "/bin/canopy-pps". Returns an empty string if the program is not a reference
// tool.
std::string ReferenceName(std::string_view path);

// Runs the tool of this name. Returns the exit code of the process.
int RunReferenceTool(const std::string& name,
                     const std::vector<std::string>& args);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_REFERENCE_TOOLS_H_
