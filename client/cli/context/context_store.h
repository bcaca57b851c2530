// The overlays of this user, by name: the cluster, if there is one
// (cluster_context.h), and those that `canopy up` has started, with one file
// each in a directory that only the user can enter.
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

// Accepts a name of letters, digits, '.', '_' and '-' that has at most 64
// characters and does not start with '.'. Returns kErrBadParam for any other
// name.
Status CheckContextName(const std::string& name);

// Returns the name of an overlay for which the user gives no name: "default"
// or, inside an allocation of a batch system, the kind and number of the
// allocation ("slurm-17"), so that each allocation has its own overlay.
// `environment` is getenv or a replacement.
std::string DefaultContextName(
    const std::function<char*(const char*)>& environment);

// Returns `known` without the overlays of allocations other than the allocation
// of `usual` (DefaultContextName). Outside an allocation it returns all of
// them.
std::vector<std::string> CountingContexts(std::vector<std::string> known,
                                          const std::string& usual);

// Chooses one of `known`. `asked` comes from --context or CANOPY_CONTEXT and
// may be empty; `usual` is DefaultContextName. If `asked` is empty, the choice
// is the usual name if it is known, else the only name, else "default" if it is
// known. Returns no value if there is nothing to choose from. Inside an
// allocation, contexts that are named after other allocations are ignored.
// Fails if `asked` is unknown or several names remain.
Result<std::optional<std::string>> ChooseContext(
    const std::vector<std::string>& known, const std::string& asked,
    const std::string& usual = kDefaultContext);

class ContextStore {
 public:
  // Uses ${XDG_RUNTIME_DIR or /tmp}/canopy-UID/contexts, and the cluster.
  ContextStore();
  // Uses only the files of this directory.
  explicit ContextStore(std::string directory);

  const std::string& directory() const { return directory_; }

  // Returns the sorted names. Fails if the directory is not private, and like
  // FindCluster.
  Result<std::vector<std::string>> List() const;
  // Returns the context of that name. kErrNotFound: there is no such context;
  // kErrNoPermissions: the directory is not private, or the file cannot be
  // read; kErrUnpackFailure: the file is damaged (the message gives its path);
  // kErrBadParam: the name is invalid. The context of the cluster fails like
  // ContextOfCluster.
  Result<v1::Context> Load(const std::string& name) const;
  // Creates the directory if needed. Returns kErrExists if the name is taken,
  // kErrBadParam if it is invalid, and kErrNoPermissions if the directory is
  // not private or not writable.
  Status Save(const v1::Context& context) const;
  // Does nothing for the context of the cluster. Otherwise
  // replaces the context of that name atomically, or adds it: readers see the
  // old or the new one. The directory must exist (Save). If two processes
  // update one context at the same time, one of them may fail.
  Status Update(const v1::Context& context) const;
  // Removes the context, if it exists, and then the directory and its parent
  // directory, if they are empty.
  void Remove(const std::string& name) const;

 private:
  std::string PathOf(const std::string& name) const;

  const std::string directory_;
  const bool has_cluster_ = false;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_STORE_H_
