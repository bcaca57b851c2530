// The jobs that the host has started, each with an object in place of a
// launcher.
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

// Add registers each object with the listener, which handles it as a launcher
// until OnGone. Loop thread only. The arguments of the constructor outlive this
// object.
class HostedJobs {
 public:
  using Warn = std::function<void(const std::string& text)>;
  // Limits the number of threads that a slow file system may block.
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

  // Opens the files of a job. `done` receives the number of the job's launcher
  // when the files are open; the job is persisted during that call. Errors are
  // kErrTimeout if the files are not open after half a minute, and
  // kErrResourceBusy if kMaxOpening jobs are opening files already.
  using Begun = std::function<void(const Result<uint64_t>& launcher)>;
  void Begin(const PlacementId& id, const std::string& nspace,
             const HostOutput& output, Begun done);
  // Returns true if files are being opened for the job of that placement.
  bool Begins(const PlacementId& id) const { return opening_.contains(id); }
  // Removes a launcher whose job is not launched.
  void Remove(uint64_t id);
  // Recovers a job of the predecessor. Its launcher reattaches once the loop
  // runs.
  void Recover(const PersistedJob& job);

  // Returns a unique token by which a successor identifies the job's launcher.
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
  // The jobs whose files are being opened, each with the timer of its time
  // limit.
  std::map<PlacementId, EventLoop::TimerId> opening_;
  // The use count limits the threads that open files: each thread holds a
  // reference until it ends, even if its job was given up.
  const std::shared_ptr<int> threads_ = std::make_shared<int>();
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_HOSTED_JOBS_H_
