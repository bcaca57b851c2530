// The jobs of the overlay that other agents control.
#ifndef CANOPY_SERVER_CONTROL_JOBS_ELSEWHERE_H_
#define CANOPY_SERVER_CONTROL_JOBS_ELSEWHERE_H_

#include <string>

#include "server/control/job_record.h"
#include "server/core/step/control_actions.h"

namespace canopy::control {

// The leader maps jobs onto nodes that jobs of earlier leaders use, and lists
// those jobs. Their phase is not known here, so they count as running. Not
// synchronised.
class JobsElsewhere {
 public:
  void On(const core::JobElsewhere& job);

  // Returns the jobs of this agent together with those of others. The reference
  // is valid until the next call.
  const JobRecords& With(const JobRecords& own) const;

 private:
  JobRecords jobs_;
  mutable JobRecords all_;  // the last result of With
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOBS_ELSEWHERE_H_
