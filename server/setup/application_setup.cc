#include "server/setup/application_setup.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "common/support/ignored_directives.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"
#include "pmix_common.h"

namespace canopy::setup {
namespace {

// A prefix of variables that programs of a model read.
struct Prefix {
  std::string_view text;
  std::string_view model;  // empty: common to all models
};

constexpr Prefix kPrefixes[] = {
    {"PMIX_MCA_", ""},
    {"UCX_", ""},
    {"FI_", ""},
    {"PSM2_", ""},
    {"PSM3_", ""},
    {"HFI_", ""},
    {"IBV_", ""},
    {"NCCL_", ""},
    {"RCCL_", ""},
    {"OMPI_", "mpi"},
    {"OPAL_", "mpi"},
    {"PRTE_MCA_", "mpi"},
    {"MPICH_", "mpi"},
    {"MPIR_", "mpi"},
    {"I_MPI_", "mpi"},
    {"MV2_", "mpi"},
    {"ROMIO_", "mpi"},
    {"OMP_", "openmp"},
    {"GOMP_", "openmp"},
    {"KMP_", "openmp"},
    {"SHMEM_", "openshmem"},
    {"OSHMEM_", "openshmem"},
    {"SMA_", "openshmem"},
};

// The variables that a launcher sets for the processes of a job, to which this
// process may belong.
constexpr std::string_view kOfThisJob[] = {
    "OMPI_COMM_WORLD_",       "OMPI_UNIVERSE_SIZE=", "OMPI_FIRST_RANKS=",
    "OMPI_NUM_APP_CTX=",      "OMPI_APP_CTX_",       "OMPI_FILE_LOCATION=",
    "OMPI_MCA_orte_",         "OMPI_MCA_ess",        "OMPI_MCA_pmix=",
    "OMPI_MCA_initial_wdir=", "OMPI_ARGV=",          "OMPI_COMMAND="};

constexpr std::string_view kFabricRequests[] = {
    PMIX_ALLOC_FABRIC,        PMIX_ALLOC_FABRIC_ID,
    PMIX_ALLOC_FABRIC_TYPE,   PMIX_ALLOC_FABRIC_PLANE,
    PMIX_ALLOC_FABRIC_QOS,    PMIX_ALLOC_FABRIC_SEC_KEY,
    PMIX_ALLOC_FABRIC_ENDPTS, PMIX_ALLOC_FABRIC_ENDPTS_NODE,
    PMIX_ALLOC_BANDWIDTH};

// Directives that have no effect here. They state where the processes run, and
// which implementation of their model they use.
constexpr std::string_view kAccepted[] = {PMIX_NODE_MAP,
                                          PMIX_PROC_MAP,
                                          PMIX_MODEL_LIBRARY_NAME,
                                          PMIX_MODEL_LIBRARY_VERSION,
                                          PMIX_SETUP_APP_NONENVARS,
                                          PMIX_SESSION_INFO};

bool IsAnyOf(std::string_view key, std::span<const std::string_view> keys) {
  return std::ranges::find(keys, key) != keys.end();
}

bool SameText(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

class Harvest {
 public:
  // Returns kSuccess, or the reason why the directive cannot be followed.
  int Take(const pmix_info_t& directive);
  InfoList Of(const char* const* environment) const;

 private:
  static int TakeFlag(const pmix_info_t& directive, bool* flag);
  int TakeModel(const pmix_info_t& directive);
  bool IsWanted(std::string_view entry) const;

  bool envars_ = false;
  bool all_ = false;
  bool harvested_ = false;
  std::string_view model_;  // empty: any
};

int Harvest::TakeFlag(const pmix_info_t& directive, bool* flag) {
  const auto value = BoolOf(directive.value);
  if (value) *flag = *value;
  return value ? kSuccess : kErrTypeMismatch;
}

// Sets the model. An unknown model is ignored, so that no variables are
// omitted.
int Harvest::TakeModel(const pmix_info_t& directive) {
  const auto text = StringOf(directive.value);
  if (!text) return kErrTypeMismatch;
  model_ = {};
  for (const Prefix& prefix : kPrefixes) {
    if (SameText(*text, prefix.model)) model_ = prefix.model;
  }
  return kSuccess;
}

int Harvest::Take(const pmix_info_t& directive) {
  const std::string_view key = KeyOf(directive);
  if (key == PMIX_SETUP_APP_ENVARS) return TakeFlag(directive, &envars_);
  if (key == PMIX_SETUP_APP_ALL) return TakeFlag(directive, &all_);
  if (key == PMIX_ENVARS_HARVESTED) return TakeFlag(directive, &harvested_);
  if (key == PMIX_PROGRAMMING_MODEL) return TakeModel(directive);
  if (IsAnyOf(key, kFabricRequests)) return kErrNotSupported;
  if (IsAnyOf(key, kAccepted)) return kSuccess;
  return support::NotHonoured("PMIx_server_setup_application", directive);
}

bool Harvest::IsWanted(std::string_view entry) const {
  const auto begins = [entry](std::string_view text) {
    return entry.starts_with(text);
  };
  if (std::ranges::any_of(kOfThisJob, begins)) return false;
  for (const Prefix& prefix : kPrefixes) {
    const bool of_model =
        model_.empty() || prefix.model.empty() || prefix.model == model_;
    if (of_model && begins(prefix.text)) return true;
  }
  return false;
}

Value SetEnvar(std::string_view entry) {
  const size_t sign = entry.find('=');
  std::string name(entry.substr(0, sign));
  std::string text(entry.substr(sign + 1));
  pmix_envar_t envar = {name.data(), text.data(), ':'};
  Value value;
  if (LoadValue(value.mutable_raw(), &envar, PMIX_ENVAR) != kSuccess) return {};
  return value;
}

InfoList Harvest::Of(const char* const* environment) const {
  InfoList infos;
  if (harvested_ || !(envars_ || all_) || environment == nullptr) return infos;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.find('=') != std::string_view::npos && IsWanted(entry)) {
      infos.Add(PMIX_SET_ENVAR, SetEnvar(entry));
    }
  }
  return infos;
}

}  // namespace

Result<InfoList> SetUpApplication(std::span<const pmix_info_t> directives,
                                  const char* const* environment) {
  Harvest harvest;
  for (const pmix_info_t& directive : directives) {
    const int code = harvest.Take(directive);
    if (code != kSuccess) {
      return Status(code, std::string(KeyOf(directive)) +
                              " cannot be followed in setting up a job");
    }
  }
  return harvest.Of(environment);
}

}  // namespace canopy::setup
