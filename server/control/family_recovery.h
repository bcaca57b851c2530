// Restores the families of a predecessor, and accepts launchers that reattach
// to them.
#ifndef CANOPY_SERVER_CONTROL_FAMILY_RECOVERY_H_
#define CANOPY_SERVER_CONTROL_FAMILY_RECOVERY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "protos/control.pb.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/control/spawn_requests.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Loop thread only. The arguments of the constructor outlive this object.
class FamilyRecovery {
 public:
  // Called when the launcher of the family has reattached, or will not
  // reattach: work that waited for the launcher continues.
  using Resume = std::function<void(Family* family)>;

  // Called for a job that was over at the predecessor, because the predecessor
  // may not have notified the processes concerned.
  using TellEnd =
      std::function<void(const PersistedJob& job, const v1::JobEnd& end)>;

  FamilyRecovery(EventLoop* loop, Families* families, SpawnRequests* requests,
                 Resume resume, TellEnd tell_end)
      : loop_(loop),
        families_(families),
        requests_(requests),
        resume_(std::move(resume)),
        tell_end_(std::move(tell_end)) {}

  void set_sink(InputSink* sink) { sink_ = sink; }
  // Sets how long a successor waits for launchers, in milliseconds.
  void set_timeout(uint32_t ms) { timeout_ms_ = ms; }

  // Recovers the families of the predecessor. Called before the core gets a
  // JobRecovered for any of these jobs.
  void Recover(const std::vector<PersistedJob>& jobs);
  // Keeps the result of a family that is over and whose launcher is not
  // connected but may return.
  void Keep(const Family& family);
  // Handles a launcher's request to reattach. It is the first request of a
  // launcher that has no family yet.
  void OnReattach(uint64_t id, Launcher* launcher,
                  const v1::Reattach& reattach);

 private:
  // A family that has ended, and whose launcher may not know that yet.
  struct Ended {
    std::vector<std::string> jobs;  // jobs whose records are kept
    v1::JobEnd end;
    std::optional<v1::JobRequeued> requeued;  // sent instead of `end`
  };

  void RecoverFamily(const std::string& token,
                     const std::vector<const PersistedJob*>& jobs);
  void RecoverJob(const PersistedJob& persisted, Family* family);
  void AwaitLauncher(const std::string& token);
  // Called when the launcher has not reattached in time.
  void OnTimeout(const std::string& token);
  // Stops waiting for the launcher. Its family ends, except for the jobs that
  // need no launcher.
  void GoOnWithout(const std::string& token);
  void Reattach(uint64_t id, Launcher* launcher, Family* family,
                const v1::Reattach& reattach);
  void Welcome(Launcher* launcher, Family* family,
               const v1::Reattach& reattach);
  void ReattachOutput(Launcher* launcher, const Family& family,
                      const std::string& nspace, const v1::Reattach& reattach);

  EventLoop* const loop_;
  Families* const families_;
  SpawnRequests* const requests_;
  const Resume resume_;
  const TellEnd tell_end_;
  InputSink* sink_ = nullptr;
  uint32_t timeout_ms_ = 0;
  std::map<std::string, Ended> ended_;  // by token
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_FAMILY_RECOVERY_H_
