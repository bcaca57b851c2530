#include "server/registration/applications.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "pmix_common.h"
#include "server/registration/entry.h"
#include "server/registration/map_texts.h"
#include "server/registration/registration.h"

namespace canopy::registration {
namespace {

constexpr uint32_t kNoApp = UINT32_MAX;

class Assigner {
 public:
  Assigner(const Draft& draft, uint32_t num_ranks, Applications* out,
           Problem* problem)
      : draft_(draft), out_(*out), problem_(*problem) {
    out_.app_of.assign(num_ranks, kNoApp);
  }

  bool Run() {
    return TakeFromProcs() && TakeFromMaps() && Count() && TakeFromLeaders() &&
           TakeInOrder() && TakeDefault() && CheckSizes();
  }

 private:
  bool TakeFromProcs();
  bool TakeFromMaps();
  bool Count();
  bool TakeFromLeaders();
  bool TakeInOrder();
  bool TakeDefault();
  bool CheckSizes();

  bool Put(Rank rank, uint32_t app, const std::string& said_by);
  bool PutRange(Rank first, uint32_t count, uint32_t app,
                const std::string& said_by);
  std::optional<uint32_t> Number(const Level& level, std::string_view key,
                                 uint32_t max = kMaxProcs) {
    return ReadNumber(level.Find(key), max, &problem_);
  }

  const Draft& draft_;
  Applications& out_;
  Problem& problem_;
};

bool Assigner::Put(Rank rank, uint32_t app, const std::string& said_by) {
  if (rank >= out_.app_of.size() ||
      (out_.app_of[rank] != kNoApp && out_.app_of[rank] != app)) {
    return problem_.Say(kErrBadParam, said_by + " contradicts another: rank " +
                                          std::to_string(rank) +
                                          " of application " +
                                          std::to_string(app));
  }
  out_.app_of[rank] = app;
  return true;
}

bool Assigner::PutRange(Rank first, uint32_t count, uint32_t app,
                        const std::string& said_by) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!Put(first + i, app, said_by)) return false;
  }
  return true;
}

bool Assigner::TakeFromProcs() {
  for (const auto& [rank, proc] : draft_.procs) {
    const auto app = Number(proc.level, PMIX_APPNUM, kMaxApps - 1);
    if (!problem_.ok()) return false;
    if (app && proc.app && app != proc.app) {
      return problem_.Say(kErrBadParam, "PMIX_APPNUM of rank " +
                                            std::to_string(rank) +
                                            " contradicts its array");
    }
    const auto known = app ? app : proc.app;
    if (known && !Put(rank, *known, "PMIX_APPNUM")) return false;
  }
  return true;
}

bool Assigner::TakeFromMaps() {
  for (const auto& [app, level] : draft_.apps) {
    const pmix_info_t* map = level.Find(PMIX_PROC_MAP);
    if (map == nullptr) map = level.Find(PMIX_PROC_MAP_RAW);
    if (map == nullptr) continue;
    const auto nodes = ReadRankMap(*map, &problem_);
    if (!nodes) return false;
    for (const std::vector<Rank>& ranks : *nodes) {
      for (const Rank rank : ranks) {
        if (!Put(rank, app, "PMIX_PROC_MAP of an application")) return false;
      }
    }
  }
  return true;
}

// Determines the number of applications from PMIX_JOB_NUM_APPS and from the
// numbers of the applications.
bool Assigner::Count() {
  uint32_t count = 1;
  const auto own = Number(draft_.job, PMIX_APPNUM, kMaxApps - 1);
  if (own) count = *own + 1;
  for (const uint32_t app : out_.app_of) {
    if (app != kNoApp) count = std::max(count, app + 1);
  }
  if (!draft_.apps.empty()) {
    count = std::max(count, draft_.apps.rbegin()->first + 1);
  }
  const auto told = Number(draft_.job, PMIX_JOB_NUM_APPS, kMaxApps);
  if (told && *told != 0 && *told < count) {
    return problem_.Say(kErrBadParam, "PMIX_JOB_NUM_APPS is " +
                                          std::to_string(*told) +
                                          ", and there is a PMIX_APPNUM " +
                                          std::to_string(count - 1));
  }
  out_.count = std::max(count, told.value_or(0));
  if (own) std::ranges::replace(out_.app_of, kNoApp, *own);
  return problem_.ok();
}

bool Assigner::TakeFromLeaders() {
  for (const auto& [app, level] : draft_.apps) {
    const auto leader = Number(level, PMIX_APPLDR);
    const auto size = Number(level, PMIX_APP_SIZE);
    if (!problem_.ok()) return false;
    if (!leader || !size || out_.count == 1) continue;
    // Other entries have assigned the leader already. They have precedence,
    // because they may assign ranks that are not consecutive.
    const bool said =
        *leader < out_.app_of.size() && out_.app_of[*leader] != kNoApp;
    if (said) continue;
    if (!PutRange(*leader, *size, app, "PMIX_APPLDR")) return false;
  }
  return true;
}

bool Assigner::TakeInOrder() {
  const auto placed = [](uint32_t app) { return app != kNoApp; };
  if (out_.count == 1 || std::ranges::any_of(out_.app_of, placed)) return true;
  Rank next = 0;
  for (const auto& [app, level] : draft_.apps) {
    const auto size = Number(level, PMIX_APP_SIZE);
    if (!size) return problem_.ok();
    if (!PutRange(next, *size, app, "PMIX_APP_SIZE")) return false;
    next += *size;
  }
  return true;
}

bool Assigner::TakeDefault() {
  const auto lost = std::ranges::find(out_.app_of, kNoApp);
  if (lost == out_.app_of.end()) return true;
  if (out_.count > 1) {
    return problem_.Say(kErrBadParam,
                        "PMIX_APPNUM of rank " +
                            std::to_string(lost - out_.app_of.begin()) +
                            " is missing");
  }
  std::ranges::replace(out_.app_of, kNoApp, 0u);
  return true;
}

bool Assigner::CheckSizes() {
  std::vector<uint32_t> sizes(out_.count);
  for (const uint32_t app : out_.app_of) ++sizes[app];
  for (const auto& [app, level] : draft_.apps) {
    const auto told = Number(level, PMIX_APP_SIZE);
    if (!problem_.ok()) return false;
    if (!told || *told == sizes[app]) continue;
    return problem_.Say(
        kErrBadParam,
        "PMIX_APP_SIZE of application " + std::to_string(app) + " is " +
            std::to_string(*told) +
            ", and it has processes: " + std::to_string(sizes[app]));
  }
  return true;
}

}  // namespace

bool Assign(const Draft& draft, uint32_t num_ranks, Applications* applications,
            Problem* problem) {
  return Assigner(draft, num_ranks, applications, problem).Run();
}

}  // namespace canopy::registration
