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

void KillAbandoned(const Families& families, Family* family,
                   const std::string& reason, InputSink* sink) {
  core::KillRequested kill{"", kErrJobKilledByCmd, reason};
  if (!family->unattended) return KillFamily(family, std::move(kill), sink);
  for (const std::string& job : family->jobs()) {
    if (families.jobs().at(job).facts.unattended) continue;
    kill.nspace = job;
    sink->OnInput(kill);
  }
}

void KillConsequences(const JobSpec& failed, const LaunchFacts& facts,
                      bool with_parent, const JobRecords& jobs,
                      InputSink* sink) {
  for (const Consequence& next :
       ConsequencesOf(failed, facts, with_parent, jobs)) {
    core::KillRequested kill{next.nspace, kErrJobTermWoSync, next.reason};
    kill.again = true;
    sink->OnInput(std::move(kill));
  }
}

}  // namespace canopy::control
