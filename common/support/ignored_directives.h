// The rule for directives that a function of libpmix does not honour: a
// directive that is marked as required makes the call fail, any other directive
// is reported in a log.
#ifndef CANOPY_COMMON_SUPPORT_IGNORED_DIRECTIVES_H_
#define CANOPY_COMMON_SUPPORT_IGNORED_DIRECTIVES_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "common/mutex.h"
#include "pmix_common.h"

namespace canopy::support {

// The directives of this process that were not honoured. The library has no log
// of its own, so each of them is passed to a reporter: the agent's log, or the
// log of a server in C. Any thread.
class IgnoredDirectives {
 public:
  // Called once for each function and key, with the mutex held. The function
  // must not block and must not call this object.
  using Report =
      std::function<void(std::string_view function, std::string_view key)>;

  // Limit for the directives that are reported. Programs choose the keys, so
  // further directives are ignored without a report.
  static constexpr size_t kMaxReported = 64;

  // Returns the object of this process, which lives until the process ends.
  static IgnoredDirectives& OfProcess();
  // Called after a fork, in the child: the child has reported nothing, and has
  // no reporter. The parent's object is never freed, because its mutex may be
  // held.
  static void ResetInChild();

  // Reports a directive, or keeps it for the next reporter if there is none.
  void Note(std::string_view function, std::string_view key);
  // Sets the reporter, which must not be empty, and passes to it the directives
  // that were recorded while there was none.
  void SetReport(Report report);
  // Called when the library is finalized: removes the reporter, and forgets
  // what was reported, because the next reporter may write to another log.
  void End();

 private:
  struct Directive {
    std::string function;
    std::string key;
    auto operator<=>(const Directive&) const = default;
  };

  Mutex mu_;
  Report report_ CANOPY_GUARDED_BY(mu_);
  std::set<Directive> unreported_ CANOPY_GUARDED_BY(mu_);
  std::set<Directive> reported_ CANOPY_GUARDED_BY(mu_);
};

// Returns the status of `function` for a directive that it does not honour:
// PMIX_ERR_NOT_SUPPORTED if the directive is required and no layer has
// processed it. Otherwise returns PMIX_SUCCESS and records the directive.
int NotHonoured(std::string_view function, const pmix_info_t& info);

}  // namespace canopy::support

#endif  // CANOPY_COMMON_SUPPORT_IGNORED_DIRECTIVES_H_
