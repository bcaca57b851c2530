// PMI-1: key-value spaces.
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "client/pmi/abi_support.h"
#include "client/pmi/key_space.h"
#include "client/pmi/key_values.h"
#include "client/pmi/process.h"
#include "client/pmi/snapshot.h"
#include "client/pmi/spawn.h"
#include "common/mutex.h"
#include "common/thread_annotations.h"
#include "pmi.h"
#include "pmix.h"

namespace canopy::pmi {

namespace {

// The spaces that this process has created and destroyed, and its current
// iteration over the pairs of a space.
struct Spaces {
  Mutex mutex;
  uint32_t created CANOPY_GUARDED_BY(mutex) = 0;
  std::set<std::string, std::less<>> destroyed CANOPY_GUARDED_BY(mutex);
  KeyValues walk CANOPY_GUARDED_BY(mutex);
  size_t next CANOPY_GUARDED_BY(mutex) = 0;
};

Spaces& TheSpaces() {
  static Spaces* const spaces = new Spaces;
  return *spaces;
}

bool IsOpen(const Process& process, const char* space) {
  if (space == nullptr || !IsSpaceOf(process.self.nspace, space)) {
    return false;
  }
  Spaces& spaces = TheSpaces();
  const MutexLock lock(spaces.mutex);
  return !spaces.destroyed.contains(std::string_view(space));
}

int CheckKey(const Process& process, const char* key) {
  if (key == nullptr || *key == '\0') return PMI_ERR_INVALID_KEY;
  if (strlen(key) >= kMaxKey) return PMI_ERR_INVALID_KEY_LENGTH;
  const char* job = process.self.nspace;
  return KeyInSpace(job, job, key) ? PMI_SUCCESS : PMI_ERR_INVALID_KEY;
}

std::optional<std::string> Find(const Process& process, const char* space,
                                const char* key) {
  const char* job = process.self.nspace;
  if (key == kProcessMapping) {
    return TextOf(WholeJob(process), PMIX_ANL_MAP);
  }
  const pmix_proc_t anybody = MemberOf(process, PMIX_RANK_UNDEF);
  const std::string pmix_key = PmixKey(job, space, key);
  auto value = TextOf(anybody, pmix_key.c_str());
  if (!value && std::string_view(space) == job) {
    value = PreputValue(key);
  }
  return value;
}

int NextPair(char* key, int key_length, char* value, int value_length) {
  Spaces& spaces = TheSpaces();
  const MutexLock lock(spaces.mutex);
  if (spaces.next == spaces.walk.size()) {
    return CopyText("", key, key_length, PMI_ERR_INVALID_KEY_LENGTH);
  }
  const auto& [found, text] = spaces.walk[spaces.next];
  int code = CopyText(text, value, value_length, PMI_ERR_INVALID_VAL_LENGTH);
  if (code == PMI_SUCCESS) {
    code = CopyText(found, key, key_length, PMI_ERR_INVALID_KEY_LENGTH);
  }
  if (code == PMI_SUCCESS) ++spaces.next;
  return code;
}

}  // namespace

extern "C" {

PMIX_EXPORT int PMI_KVS_Get_my_name(char kvsname[], int length) {
  return CopyJobName(kvsname, length);
}

PMIX_EXPORT int PMI_KVS_Get_name_length_max(int* length) {
  return ReturnLength(length, kMaxName);
}

PMIX_EXPORT int PMI_KVS_Get_key_length_max(int* length) {
  return ReturnLength(length, kMaxKey);
}

PMIX_EXPORT int PMI_KVS_Get_value_length_max(int* length) {
  return ReturnLength(length, kMaxValue);
}

PMIX_EXPORT int PMI_KVS_Create(char kvsname[], int length) {
  if (kvsname == nullptr) return PMI_ERR_INVALID_ARG;
  return WithProcess([&](const Process& process) {
    Spaces& spaces = TheSpaces();
    const MutexLock lock(spaces.mutex);
    const std::string name =
        CreatedSpace(process.self.nspace, process.self.rank, spaces.created);
    if (name.empty()) return PMI_FAIL;
    const int code = CopyText(name, kvsname, length, PMI_ERR_INVALID_LENGTH);
    if (code == PMI_SUCCESS) ++spaces.created;
    return code;
  });
}

// PMIx cannot withdraw committed data, so this process rejects the name from
// now on.
PMIX_EXPORT int PMI_KVS_Destroy(const char kvsname[]) {
  if (kvsname == nullptr) return PMI_ERR_INVALID_ARG;
  return WithProcess([&](const Process& process) {
    if (!IsOpen(process, kvsname) ||
        strcmp(kvsname, process.self.nspace) == 0) {
      return PMI_ERR_INVALID_ARG;
    }
    Spaces& spaces = TheSpaces();
    const MutexLock lock(spaces.mutex);
    spaces.destroyed.insert(kvsname);
    return PMI_SUCCESS;
  });
}

PMIX_EXPORT int PMI_KVS_Put(const char kvsname[], const char key[],
                            const char value[]) {
  return WithProcess([&](const Process& process) {
    if (!IsOpen(process, kvsname)) return PMI_ERR_INVALID_KVS;
    if (const int code = CheckKey(process, key); code != PMI_SUCCESS) {
      return code;
    }
    if (value == nullptr) return PMI_ERR_INVALID_VAL;
    if (strlen(value) >= kMaxValue) {
      return PMI_ERR_INVALID_VAL_LENGTH;
    }
    return CodeOf(PutText(PMIX_GLOBAL,
                          PmixKey(process.self.nspace, kvsname, key), value));
  });
}

PMIX_EXPORT int PMI_KVS_Commit(const char kvsname[]) {
  return WithProcess([&](const Process& process) {
    if (!IsOpen(process, kvsname)) return PMI_ERR_INVALID_ARG;
    return CodeOf(PMIx_Commit());
  });
}

PMIX_EXPORT int PMI_KVS_Get(const char kvsname[], const char key[],
                            char value[], int length) {
  return WithProcess([&](const Process& process) {
    if (!IsOpen(process, kvsname)) return PMI_ERR_INVALID_KVS;
    if (const int code = CheckKey(process, key); code != PMI_SUCCESS) {
      return code;
    }
    if (value == nullptr) return PMI_ERR_INVALID_VAL;
    const auto found = Find(process, kvsname, key);
    if (!found) return PMI_FAIL;
    return CopyText(*found, value, length, PMI_ERR_INVALID_LENGTH);
  });
}

PMIX_EXPORT int PMI_KVS_Iter_first(const char kvsname[], char key[],
                                   int key_len, char val[], int val_len) {
  return WithProcess([&](const Process& process) {
    if (!IsOpen(process, kvsname)) return PMI_ERR_INVALID_KVS;
    if (key == nullptr) return PMI_ERR_INVALID_KEY;
    if (val == nullptr) return PMI_ERR_INVALID_VAL;
    KeyValues walk = SnapshotOf(process, kvsname);
    {
      Spaces& spaces = TheSpaces();
      const MutexLock lock(spaces.mutex);
      spaces.walk = std::move(walk);
      spaces.next = 0;
    }
    return NextPair(key, key_len, val, val_len);
  });
}

PMIX_EXPORT int PMI_KVS_Iter_next(const char kvsname[], char key[], int key_len,
                                  char val[], int val_len) {
  return WithProcess([&](const Process& process) {
    if (!IsOpen(process, kvsname)) return PMI_ERR_INVALID_KVS;
    if (key == nullptr) return PMI_ERR_INVALID_KEY;
    if (val == nullptr) return PMI_ERR_INVALID_VAL;
    return NextPair(key, key_len, val, val_len);
  });
}

}  // extern "C"

}  // namespace canopy::pmi
