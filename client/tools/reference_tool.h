// One tool of OpenPMIx that Canopy provides under its name; see
// reference_tools.h.
#ifndef CANOPY_CLIENT_TOOLS_REFERENCE_TOOL_H_
#define CANOPY_CLIENT_TOOLS_REFERENCE_TOOL_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/options/option_parser.h"
#include "common/status.h"

namespace canopy::tools {

class ReferenceTool {
 public:
  ReferenceTool() = default;
  virtual ~ReferenceTool() = default;
  ReferenceTool(const ReferenceTool&) = delete;
  ReferenceTool& operator=(const ReferenceTool&) = delete;

  // Returns the options that only this tool has.
  virtual cli::OptionTable Options() = 0;
  // Checks the command line before the tool connects to a server.
  virtual Status Check(const std::vector<std::string>& words) = 0;
  // Runs the tool with a connection, unless --do-not-connect was given. Returns
  // the exit code.
  virtual int Run(const std::vector<std::string>& words) = 0;
};

// Make the tools of these names, which reference_tools.h describes.
std::unique_ptr<ReferenceTool> MakePps();
std::unique_ptr<ReferenceTool> MakePquery();
std::unique_ptr<ReferenceTool> MakePattrs();
std::unique_ptr<ReferenceTool> MakePlookup();
std::unique_ptr<ReferenceTool> MakePevent();
std::unique_ptr<ReferenceTool> MakePctrl();
std::unique_ptr<ReferenceTool> MakePalloc();

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_REFERENCE_TOOL_H_
