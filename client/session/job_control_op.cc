#include "client/session/job_control_op.h"

#include <string>
#include <string_view>

#include "client/session/directives.h"
#include "client/session/target.h"
#include "common/codec/decoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// The directory that goes with the job, without a slash at its end.
std::string JobDirectory(const Session& session) {
  const auto encoded = session.job().FindJob(PMIX_NSDIR);
  if (!encoded) return {};
  const Result<Value> value = DecodeValue(*encoded);
  if (!value.ok()) return {};
  std::string_view path = value->AsString().value_or("");
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

// Whether each of the paths, separated by commas, lies in `directory`. A path
// that leads out of where it seems to be does not.
bool AllInside(std::string_view paths, std::string_view directory) {
  if (directory.empty()) return false;
  while (true) {
    const size_t comma = paths.find(',');
    const std::string_view path = paths.substr(0, comma);
    if (!path.starts_with(directory) ||
        path.find("/..") != std::string_view::npos) {
      return false;
    }
    const std::string_view rest = path.substr(directory.size());
    if (!rest.empty() && rest.front() != '/') return false;
    if (comma == std::string_view::npos) return true;
    paths.remove_prefix(comma + 1);
  }
}

int CheckTargets(const Session& session, const pmix_proc_t* targets,
                 size_t ntargets) {
  if (targets == nullptr && ntargets > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < ntargets; ++i) {
    if (NspaceOf(targets[i]) != session.self().nspace) {
      return PMIX_ERR_NOT_SUPPORTED;
    }
  }
  return PMIX_SUCCESS;
}

int CheckDirective(const pmix_info_t& info, const std::string& directory,
                   bool* cleanup) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_REGISTER_CLEANUP || key == PMIX_REGISTER_CLEANUP_DIR) {
    const auto paths = StringOf(info.value);
    if (!paths || paths->empty()) return PMIX_ERR_BAD_PARAM;
    *cleanup = true;
    return AllInside(*paths, directory) ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
  }
  // Open MPI leaves slots of its array empty.
  if (key.empty() || key == PMIX_CLEANUP_RECURSIVE) return PMIX_SUCCESS;
  if ((key == PMIX_CLEANUP_EMPTY || key == PMIX_CLEANUP_LEAVE_TOPDIR) &&
      !IsTrue(info)) {
    return PMIX_SUCCESS;
  }
  return PMIX_ERR_NOT_SUPPORTED;
}

}  // namespace

int ControlJob(Session& session, const pmix_proc_t* targets, size_t ntargets,
               const pmix_info_t* directives, size_t ndirs) {
  if (directives == nullptr || ndirs == 0) return PMIX_ERR_BAD_PARAM;
  int rc = CheckTargets(session, targets, ntargets);
  if (rc != PMIX_SUCCESS) return rc;
  const std::string directory = JobDirectory(session);
  bool cleanup = false;
  for (size_t i = 0; i < ndirs; ++i) {
    rc = CheckDirective(directives[i], directory, &cleanup);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return cleanup ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

}  // namespace canopy::client
