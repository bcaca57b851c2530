// PMI-1: spawning, and hints on command lines.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/pmi/abi_support.h"
#include "client/pmi/command_line.h"
#include "client/pmi/key_values.h"
#include "client/pmi/process.h"
#include "client/pmi/spawn.h"
#include "pmi.h"
#include "pmix.h"

namespace canopy::pmi {

namespace {

KeyValues PairsOf(int count, const PMI_keyval_t* pairs) {
  KeyValues out;
  for (int i = 0; i < count; ++i) {
    if (pairs[i].key == nullptr || pairs[i].val == nullptr) continue;
    out.emplace_back(pairs[i].key, pairs[i].val);
  }
  return out;
}

int ReturnPairs(const KeyValues& pairs, PMI_keyval_t** out, int* size) {
  auto* array =
      static_cast<PMI_keyval_t*>(calloc(pairs.size() + 1, sizeof(**out)));
  if (array == nullptr) return PMI_FAIL;
  for (size_t i = 0; i < pairs.size(); ++i) {
    array[i].key = strdup(pairs[i].first.c_str());
    array[i].val = strdup(pairs[i].second.c_str());
  }
  *out = array;
  *size = static_cast<int>(pairs.size());
  return PMI_SUCCESS;
}

std::vector<std::string> ArgumentsOf(const char** argv) {
  std::vector<std::string> out;
  for (; argv != nullptr && *argv != nullptr; ++argv) out.emplace_back(*argv);
  return out;
}

}  // namespace

extern "C" {

PMIX_EXPORT int PMI_Spawn_multiple(int count, const char* cmds[],
                                   const char** argvs[], const int maxprocs[],
                                   const int info_keyval_sizesp[],
                                   const PMI_keyval_t* info_keyval_vectors[],
                                   int preput_keyval_size,
                                   const PMI_keyval_t preput_keyval_vector[],
                                   int errors[]) {
  if (count < 1 || cmds == nullptr || maxprocs == nullptr ||
      (preput_keyval_size > 0 && preput_keyval_vector == nullptr)) {
    return PMI_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process&) {
    std::vector<Command> commands(count);
    for (int i = 0; i < count; ++i) {
      if (cmds[i] == nullptr || maxprocs[i] < 1) return PMI_ERR_INVALID_ARG;
      commands[i].program = cmds[i];
      commands[i].count = maxprocs[i];
      if (argvs != nullptr) commands[i].arguments = ArgumentsOf(argvs[i]);
      if (info_keyval_sizesp == nullptr || info_keyval_vectors == nullptr) {
        continue;
      }
      commands[i].hints =
          PairsOf(info_keyval_sizesp[i], info_keyval_vectors[i]);
    }
    std::string job;
    const int code = CodeOf(Spawn(
        commands, PairsOf(preput_keyval_size, preput_keyval_vector), &job));
    for (int i = 0; errors != nullptr && i < count; ++i) errors[i] = code;
    return code;
  });
}

PMIX_EXPORT int PMI_Parse_option(int num_args, char* args[], int* num_parsed,
                                 PMI_keyval_t** keyvalp, int* size) {
  if (num_args < 1) return PMI_ERR_INVALID_NUM_ARGS;
  if (args == nullptr) return PMI_ERR_INVALID_ARGS;
  if (num_parsed == nullptr) return PMI_ERR_INVALID_NUM_PARSED;
  if (keyvalp == nullptr) return PMI_ERR_INVALID_KEYVALP;
  if (size == nullptr) return PMI_ERR_INVALID_SIZE;
  const KeyValues found = LeadingOptions(num_args, args);
  const int code = ReturnPairs(found, keyvalp, size);
  if (code == PMI_SUCCESS) *num_parsed = *size;
  return code;
}

PMIX_EXPORT int PMI_Args_to_keyval(int* argcp, char*((*argvp)[]),
                                   PMI_keyval_t** keyvalp, int* size) {
  if (argcp == nullptr || *argcp < 0 || argvp == nullptr ||
      keyvalp == nullptr || size == nullptr) {
    return PMI_ERR_INVALID_ARG;
  }
  return ReturnPairs(ExtractOptions(argcp, *argvp), keyvalp, size);
}

PMIX_EXPORT int PMI_Free_keyvals(PMI_keyval_t keyvalp[], int size) {
  if (size < 0 || (keyvalp == nullptr && size > 0)) return PMI_ERR_INVALID_ARG;
  for (int i = 0; i < size; ++i) {
    free(keyvalp[i].key);
    free(keyvalp[i].val);
  }
  free(keyvalp);
  return PMI_SUCCESS;
}

PMIX_EXPORT int PMI_Get_options(char* str, int* length) {
  if (str == nullptr) return PMI_ERR_INVALID_ARG;
  if (length == nullptr || *length < 0) return PMI_ERR_INVALID_LENGTH;
  const std::string_view text = kOptionsText;
  const int room = *length;
  *length = static_cast<int>(text.size()) + 1;
  return CopyText(text, str, room, PMI_ERR_NOMEM);
}

}  // extern "C"

}  // namespace canopy::pmi
