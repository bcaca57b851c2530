// Launches jobs once their files have been copied to their nodes.
#ifndef CANOPY_SERVER_CONTROL_JOB_STARTER_H_
#define CANOPY_SERVER_CONTROL_JOB_STARTER_H_

#include <functional>
#include <string>
#include <utility>

#include "common/status.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/control/preload.h"
#include "server/control/staging.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Records a job for a successor, if possible, and then passes it to the core.
// Loop thread only; `families` and `staging` outlive it.
class JobStarter {
 public:
  // Called when the job has ended without having been launched.
  using Failed =
      std::function<void(const std::string& nspace, const Status& status)>;

  JobStarter(Families* families, Staging* staging, Failed failed)
      : families_(families), staging_(staging), failed_(std::move(failed)) {}

  void set_sink(InputSink* sink) { sink_ = sink; }

  // Starts a job. It is not recorded while its files are being copied, because
  // a successor cannot use the copies.
  void Begin(const JobRecord& record, const Preload& preload, bool check_only);
  // Called when the job's files are in place, or with the reason why it is not
  // launched.
  void OnFilesCopied(const std::string& nspace, Status status);

 private:
  Status Start(const JobRecord& record, bool check_only);

  Families* const families_;
  Staging* const staging_;
  const Failed failed_;
  InputSink* sink_ = nullptr;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_STARTER_H_
