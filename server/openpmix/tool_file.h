// The files by which tools of OpenPMIx find this agent without an explicit
// address.
#ifndef CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_
#define CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_

#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::openpmix {

// Two files with an agent's address in a directory where tools look for a
// server (their TMPDIR). They are removed with this object.
//
// Tools search for "pmix.HOST.tool.PID" in all that is below the directory,
// whatever a program has put there and wherever its links lead. Some look for
// "pmix.sys.HOST" in the directory itself before that, and search for nothing
// when it is there.
class ToolFile {
 public:
  // HOST is what this machine calls itself and PID this process. `socket`: the
  // path of the agent's Unix socket, for tools that load libpmix of Canopy, in
  // a line that others do not read; empty: they cannot connect.
  static Result<ToolFile> Write(const std::string& directory,
                                const std::string& uri,
                                const std::string& socket);
  // Those of any agent, for one that left them behind.
  static void RemoveAll(const std::string& directory);
  ToolFile() = default;
  ToolFile(ToolFile&& other) noexcept;
  ToolFile& operator=(ToolFile&& other) noexcept;
  ~ToolFile();

  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::vector<std::string> paths_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_TOOL_FILE_H_
