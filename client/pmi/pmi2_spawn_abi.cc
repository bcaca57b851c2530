// PMI-2: spawning.
#include <string>
#include <vector>

#include "client/pmi/abi_support.h"
#include "client/pmi/key_values.h"
#include "client/pmi/process.h"
#include "client/pmi/spawn.h"
#include "pmi2.h"
#include "pmix.h"

namespace canopy::pmi {

namespace {

void AddPair(const MPID_Info& info, KeyValues* out) {
  if (info.key != nullptr && info.value != nullptr) {
    out->emplace_back(info.key, info.value);
  }
}

KeyValues HintsOf(int count, const MPID_Info* infos) {
  KeyValues out;
  for (int i = 0; i < count; ++i) AddPair(infos[i], &out);
  return out;
}

// Returns the preput pairs. Unlike the hints, they have one pointer for each
// pair.
KeyValues PreputOf(int count, const MPID_Info* const* infos) {
  KeyValues out;
  for (int i = 0; i < count; ++i) {
    if (infos[i] != nullptr) AddPair(*infos[i], &out);
  }
  return out;
}

}  // namespace

extern "C" {

PMIX_EXPORT int PMI2_Job_Spawn(int count, const char* cmds[], int argcs[],
                               const char** argvs[], const int maxprocs[],
                               const int info_keyval_sizes[],
                               const struct MPID_Info* info_keyval_vectors[],
                               int preput_keyval_size,
                               const struct MPID_Info* preput_keyval_vector[],
                               char jobId[], int jobIdSize, int errors[]) {
  if (count < 1 || cmds == nullptr || maxprocs == nullptr ||
      (preput_keyval_size > 0 && preput_keyval_vector == nullptr)) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process&) {
    std::vector<Command> commands(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      if (cmds[i] == nullptr || maxprocs[i] < 1) return PMI2_ERR_INVALID_ARG;
      Command& command = commands[static_cast<size_t>(i)];
      command.program = cmds[i];
      command.count = maxprocs[i];
      if (argcs != nullptr && argvs != nullptr && argvs[i] != nullptr) {
        command.arguments.assign(argvs[i], argvs[i] + argcs[i]);
      }
      if (info_keyval_sizes != nullptr && info_keyval_vectors != nullptr) {
        command.hints = HintsOf(info_keyval_sizes[i], info_keyval_vectors[i]);
      }
    }
    std::string job;
    int code = CodeOf(Spawn(
        commands, PreputOf(preput_keyval_size, preput_keyval_vector), &job));
    for (int i = 0; errors != nullptr && i < count; ++i) errors[i] = code;
    if (code == PMI2_SUCCESS && jobId != nullptr) {
      code = CopyText(job, jobId, jobIdSize, PMI2_ERR_INVALID_LENGTH);
    }
    return code;
  });
}

}  // extern "C"

}  // namespace canopy::pmi
