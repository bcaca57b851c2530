// Directives of host calls: which are honoured, and what becomes of others.
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

  // `function`: the call's name in the log. `honoured`: keys.
  Directives(std::string_view function,
             std::initializer_list<std::string_view> honoured, Log log)
      : function_(function), honoured_(honoured), log_(std::move(log)) {}

  // False when one that is marked required is not honoured. Others that are
  // not honoured get a line in the log, once a key.
  bool Check(const ProcId& caller, const InfoList& infos);
  // One that is known and whose value cannot be honoured: as Check.
  bool Refuse(const ProcId& caller, const pmix_info_t& info);

 private:
  const std::string function_;
  const std::set<std::string_view> honoured_;
  const Log log_;
  std::set<std::string, std::less<>> logged_;
};

}  // namespace canopy::host

#endif  // CANOPY_SERVER_HOST_DIRECTIVES_H_
