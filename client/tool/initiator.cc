#include "client/tool/initiator.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>

#include "client/channel/progress.h"
#include "client/events/event.h"
#include "client/tool/attach.h"
#include "common/launcher_orders_env.h"
#include "common/posix/unique_fd.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

std::string Take(const char* name) {
  const char* const value = getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

// Returns INT_MAX, which is never open, for a text that is not a descriptor.
int DescriptorOf(const std::string& text) {
  int fd = -1;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, fd);
  const bool ok = parsed.ec == std::errc() && parsed.ptr == end && fd >= 0;
  return ok ? fd : INT_MAX;
}

// Returns false once the other end is closed. Bytes in the pipe have no
// meaning.
bool StillOpen(int fd) {
  char ignored[256];
  for (;;) {
    const ssize_t size = read(fd, ignored, sizeof ignored);
    if (size > 0) continue;
    return size < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

void RaiseEnd(Session& session) {
  InfoList infos;
  // Default handlers treat every event as a failure.
  infos.Add(PMIX_EVENT_NON_DEFAULT, Value::Bool(true));
  session.events().Raise(MakeEvent(PMIX_EVENT_JOB_END, session.self(),
                                   PMIX_RANGE_PROC_LOCAL, std::move(infos)));
}

// Lives until the session or the pipe ends.
struct Watch {
  UniqueFd fd;
  Progress::WatchId id = 0;
};

int WatchPipe(Session& session, int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return PMIX_ERR_BAD_PARAM;
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  Progress& progress = session.progress();
  auto watch = std::make_shared<Watch>();
  watch->fd = UniqueFd(fd);
  watch->id = progress.Watch(fd, [&session, &progress, watch] {
    if (StillOpen(watch->fd.get())) return;
    progress.Unwatch(watch->id);
    RaiseEnd(session);
  });
  progress.Arm(watch->id, true);
  return PMIX_SUCCESS;
}

int AttachBack(Session& session, const char* key, const std::string& text) {
  if (text.empty()) return PMIX_SUCCESS;
  InfoList infos;
  infos.Add(key, Value::String(text));
  return AttachToServer(session, infos.data(), infos.size(), nullptr, nullptr);
}

}  // namespace

Initiator TakeInitiator() {
  Initiator initiator;
  initiator.uri = Take(kEnvRendezvousUri);
  const std::string pipe = Take(kEnvKeepalivePipe);
  if (!pipe.empty()) initiator.keepalive_pipe = DescriptorOf(pipe);
  const char* const file = getenv(kEnvRendezvousFile);
  if (file != nullptr && access(file, F_OK) == 0) {
    initiator.file = Take(kEnvRendezvousFile);
  }
  Result<LauncherOrders> orders = ReadOrders(Take(kEnvLauncherOrders));
  if (orders.ok()) initiator.orders = *std::move(orders);
  return initiator;
}

int FollowInitiator(Session& session, const Initiator& initiator) {
  if (initiator.keepalive_pipe >= 0) {
    const int rc = WatchPipe(session, initiator.keepalive_pipe);
    if (rc != PMIX_SUCCESS) return rc;
  }
  const int rc = AttachBack(session, PMIX_SERVER_URI, initiator.uri);
  return rc == PMIX_SUCCESS
             ? AttachBack(session, PMIX_TOOL_ATTACHMENT_FILE, initiator.file)
             : rc;
}

}  // namespace canopy::client
