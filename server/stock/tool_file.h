// How tools of OpenPMIx find this agent without being told its address.
#ifndef CANOPY_SERVER_STOCK_TOOL_FILE_H_
#define CANOPY_SERVER_STOCK_TOOL_FILE_H_

#include <string>

#include "common/status.h"

namespace canopy::stock {

// A file "pmix.HOST.tool.PID" in a directory that tools search (their TMPDIR
// or --tmpdir), which tells them an agent's address. Goes with this object.
class ToolFile {
 public:
  // HOST is what this machine calls itself and PID this process.
  static Result<ToolFile> Write(const std::string& directory,
                                const std::string& uri);
  ToolFile() = default;
  ToolFile(ToolFile&& other) noexcept;
  ToolFile& operator=(ToolFile&& other) noexcept;
  ~ToolFile();

  // Empty when there is none.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace canopy::stock

#endif  // CANOPY_SERVER_STOCK_TOOL_FILE_H_
