#include "common/posix/start_thread.h"

#include <string>
#include <system_error>
#include <utility>

namespace canopy {

Result<std::thread> StartThread(std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return Status(kErrOutOfResource,
                  "cannot start a thread: " + error.code().message());
  }
}

}  // namespace canopy
