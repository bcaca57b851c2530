// Checks the directives of host calls: required ones that are not honoured fail
// the call, and others are logged.
#ifndef CANOPY_SERVER_HOST_DIRECTIVES_H_
#define CANOPY_SERVER_HOST_DIRECTIVES_H_

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "common/values/info_list.h"
#include "server/core/step/log_line.h"

namespace canopy::host {

// Loop thread only.
class Directives {
 public:
  using Log = std::function<void(const core::LogLine&)>;

  // `function` is the name of the call in the log, and `honoured` lists the
  // keys that the call honours.
  Directives(std::string_view function,
             std::initializer_list<std::string_view> honoured, Log log)
      : function_(function), honoured_(honoured), log_(std::move(log)) {}

  // Returns false if a required directive is not honoured. Logs other
  // directives that are not honoured, each key once.
  bool Check(const ProcId& caller, const InfoList& infos);
  // Handles a directive whose key is honoured, but not with its value. Returns
  // false if the directive is required; otherwise logs it, each key once.
  bool Refuse(const ProcId& caller, const pmix_info_t& info);

 private:
  const std::string function_;
  const std::set<std::string_view> honoured_;
  const Log log_;
  std::set<std::string, std::less<>> logged_;
};

}  // namespace canopy::host

#endif  // CANOPY_SERVER_HOST_DIRECTIVES_H_
