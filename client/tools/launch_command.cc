// The command launch: the part of `canopy run` that receives the directives of
// the tool which has started it.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "client/tools/calls.h"
#include "client/tools/commands.h"
#include "client/tools/launch_words.h"
#include "common/launcher_orders_env.h"

namespace canopy::tools {
namespace {

// Owns a value of this process's own job.
class OwnValue {
 public:
  explicit OwnValue(const char* key) {
    if (PMIx_Get(nullptr, key, nullptr, 0, &value_) != PMIX_SUCCESS) {
      value_ = nullptr;
    }
  }
  ~OwnValue() {
    if (value_ != nullptr) PMIX_VALUE_RELEASE(value_);
  }
  OwnValue(const OwnValue&) = delete;
  OwnValue& operator=(const OwnValue&) = delete;

  // Returns null if there is no value.
  const pmix_value_t* get() const { return value_; }

 private:
  pmix_value_t* value_ = nullptr;
};

std::span<const pmix_info_t> Directives(const OwnValue& value) {
  if (value.get() == nullptr || value.get()->type != PMIX_DATA_ARRAY) return {};
  const pmix_data_array_t* const array = value.get()->data.darray;
  if (array == nullptr || array->type != PMIX_INFO) return {};
  return {static_cast<const pmix_info_t*>(array->array), array->size};
}

pmix_status_t SayReady() {
  const OwnValue parent(PMIX_PARENT_ID);
  if (parent.get() == nullptr || parent.get()->type != PMIX_PROC) {
    return PMIX_SUCCESS;
  }
  Infos infos;
  infos.AddFlag(PMIX_EVENT_NON_DEFAULT);
  infos.Add(PMIX_EVENT_CUSTOM_RANGE, parent.get()->data.proc, PMIX_PROC);
  return PMIx_Notify_event(PMIX_LAUNCHER_READY, nullptr, PMIX_RANGE_CUSTOM,
                           infos.data(), infos.size(), nullptr, nullptr);
}

}  // namespace

// Makes this process end when `canopy run` ends, which may happen while this
// process is stopped.
void PrepareLaunch(const std::string& orders) {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (parent != getppid()) _exit(kExitFailure);
  setenv(kEnvLauncherOrders, orders.c_str(), 1);
}

int Launch(Words words, Format /*format*/) {
  const OwnValue directives(PMIX_LAUNCH_DIRECTIVES);
  const Result<std::vector<std::string>> options =
      LaunchWords(Directives(directives));
  if (!options.ok()) {
    Complain("launch directives: " + options.status().message());
    return kExitUsage;
  }
  for (const std::string& option : *options) {
    fwrite(option.c_str(), 1, option.size() + 1, stdout);
  }
  fflush(stdout);
  if (words[1] != "serve") return 0;
  const pmix_status_t status = SayReady();
  return status == PMIX_SUCCESS ? 0 : Fail("launcher", status);
}

}  // namespace canopy::tools
