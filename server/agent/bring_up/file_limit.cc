#include "server/agent/bring_up/file_limit.h"

namespace canopy::agent {

FileLimit::FileLimit() {
  known_ = getrlimit(RLIMIT_NOFILE, &before_) == 0;
  if (!known_) return;
  const rlimit most = {before_.rlim_max, before_.rlim_max};
  setrlimit(RLIMIT_NOFILE, &most);
}

void FileLimit::Restore() {
  if (known_) setrlimit(RLIMIT_NOFILE, &before_);
}

}  // namespace canopy::agent
