// Jobs that the host has started: who takes the place of their launchers.
#ifndef CANOPY_SERVER_CONTROL_HOSTED_JOBS_H_
#define CANOPY_SERVER_CONTROL_HOSTED_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/families.h"
#include "server/control/hosted_launcher.h"
#include "server/control/job_record.h"
#include "server/control/launcher_stream.h"
#include "server/ports/job_commands_port.h"

namespace canopy::control {

// To the listener they are launchers like others, from Add until OnGone. Loop
// thread only; what it is given outlives it.
class HostedJobs {
 public:
  using Warn = std::function<void(const std::string& text)>;
  // Threads that a file system may hold up.
  static constexpr long kMaxOpening = 256;  // NOLINT: as std::shared_ptr counts

  HostedJobs(EventLoop* loop, Families* families, LauncherListener* listener,
             Warn warn)
      : loop_(loop),
        families_(families),
        listener_(listener),
        warn_(std::move(warn)) {}
  ~HostedJobs() { *alive_ = false; }
  HostedJobs(const HostedJobs&) = delete;
  HostedJobs& operator=(const HostedJobs&) = delete;

  // `done` gets the number of a launcher for the job, when its files are made;
  // within it the job is persisted. kErrTimeout: they are not in half a minute;
  // kErrResourceBusy: those of kMaxOpening jobs are not.
  using Begun = std::function<void(const Result<uint64_t>& launcher)>;
  void Begin(const PlacementId& id, const std::string& nspace,
             const HostOutput& output, Begun done);
  // The files of a job of that placement are being made.
  bool Begins(const PlacementId& id) const { return opening_.contains(id); }
  // Nothing comes of that launcher.
  void Remove(uint64_t id);
  // The predecessor's; they reattach once the loop runs.
  void Recover(const PersistedJob& job);

  // With which a job's successor is known; no two are the same.
  static std::string NewToken();

 private:
  HostedLauncher* Add(const std::string& nspace, uint64_t* id);
  void OnOpened(const PlacementId& placement, uint64_t id, const Status& status,
                const Begun& done);

  EventLoop* const loop_;
  Families* const families_;
  LauncherListener* const listener_;
  const Warn warn_;
  std::map<uint64_t, std::unique_ptr<HostedLauncher>> launchers_;
  // Jobs whose files are being opened, and the time that they have for it.
  std::map<PlacementId, EventLoop::TimerId> opening_;
  // Held by each thread that is opening files, also of a job given up.
  const std::shared_ptr<int> threads_ = std::make_shared<int>();
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_HOSTED_JOBS_H_
