// The agent's private directory: sockets of its clients, of its control
// service and of its shims.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_
#define CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_

#include <string>

#include "common/status.h"

namespace canopy::agent {

// Makes (or takes over, when it is already there and ours alone) a directory
// of mode 0700, and removes it when it goes if it is empty by then; of a path
// that it chose itself it makes and removes the parents too, which agents
// share. Refuses a directory of another user or one that others may enter.
class RuntimeDir {
 public:
  // `path` empty: ${XDG_RUNTIME_DIR or /tmp}/canopy-UID/OVERLAY/NODE.
  // `remove_parent`: the parent of a given path goes with the last directory
  // in it.
  static Result<RuntimeDir> Make(const std::string& path,
                                 const std::string& overlay_name,
                                 const std::string& node_name,
                                 bool remove_parent);
  ~RuntimeDir();
  RuntimeDir(RuntimeDir&& other) noexcept;
  RuntimeDir(const RuntimeDir&) = delete;
  RuntimeDir& operator=(const RuntimeDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  RuntimeDir() = default;

  std::string path_;
  int levels_ = 1;  // how many directories of the path to remove
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_RUNTIME_DIR_H_
