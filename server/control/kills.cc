#include "server/control/kills.h"

#include <string>
#include <utility>

namespace canopy::control {

void KillFamily(Family* family, core::KillRequested kill, InputSink* sink) {
  family->killed = true;
  for (const std::string& job : family->jobs()) {
    kill.nspace = job;
    sink->OnInput(kill);
  }
}

void KillConsequences(const JobSpec& failed, bool with_parent,
                      const JobRecords& jobs, InputSink* sink) {
  for (const Consequence& next : ConsequencesOf(failed, with_parent, jobs)) {
    core::KillRequested kill{next.nspace, kErrJobTermWoSync, next.reason};
    kill.again = true;
    sink->OnInput(std::move(kill));
  }
}

}  // namespace canopy::control
