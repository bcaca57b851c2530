// The overlays that this user has up, by name: one file each in a directory
// that only the user can enter.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_STORE_H_
#define CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_STORE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::cli::v1 {
class Context;
}

namespace canopy::cli {

inline constexpr char kDefaultContext[] = "default";

// Letters, digits, '.', '_' and '-', at most 64, not starting with '.'.
Status CheckContextName(const std::string& name);

// The name of an overlay that is given none: "default" or, inside an allocation
// of a batch system, its kind and number ("slurm-17"), so that each allocation
// has an overlay of its own. `environment` is getenv or stands for it.
std::string DefaultContextName(
    const std::function<char*(const char*)>& environment);

// `known` without the overlays of other allocations than the one that has the
// usual name; outside of an allocation all of them.
std::vector<std::string> CountingContexts(std::vector<std::string> known,
                                          const std::string& usual);

// Which of `known` is meant. `asked`: of --context or CANOPY_CONTEXT, or empty.
// `usual`: DefaultContextName. Without a name: the usual one if it is known,
// else "default" if it is known, the only one if there is one, no value if
// there is none. Inside an allocation those that are named after others do not
// count. Errors: a name that is not known, or several to choose from.
Result<std::optional<std::string>> ChooseContext(
    const std::vector<std::string>& known, const std::string& asked,
    const std::string& usual = kDefaultContext);

class ContextStore {
 public:
  // ${XDG_RUNTIME_DIR or /tmp}/canopy-UID/contexts.
  ContextStore();
  explicit ContextStore(std::string directory);

  const std::string& directory() const { return directory_; }

  // Sorted names; an error when the directory is not private.
  Result<std::vector<std::string>> List() const;
  Result<v1::Context> Load(const std::string& name) const;
  // Makes the directory when needed. kErrExists: the name is taken.
  Status Save(const v1::Context& context) const;
  // In the place of the one of that name; whoever reads sees one or the other.
  Status Update(const v1::Context& context) const;
  void Remove(const std::string& name) const;

 private:
  std::string PathOf(const std::string& name) const;

  const std::string directory_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_STORE_H_
