// The commands publish, lookup and unpublish.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "client/tools/calls.h"
#include "client/tools/commands.h"
#include "common/string_util.h"

namespace canopy::tools {
namespace {

bool ReadPersistence(std::string_view text, pmix_persistence_t* persistence) {
  if (text == "indef") {
    *persistence = PMIX_PERSIST_INDEF;
  } else if (text == "first-read") {
    *persistence = PMIX_PERSIST_FIRST_READ;
  } else {
    *persistence = PMIX_PERSIST_SESSION;
    return text == "session";
  }
  return true;
}

bool AddRange(const std::string& text, Infos* infos) {
  pmix_data_range_t range = PMIX_RANGE_SESSION;
  if (!ReadRange(text, &range)) return false;
  infos->Add(PMIX_RANGE, &range, PMIX_DATA_RANGE);
  return true;
}

// Owns the keys and results of a lookup.
class Sought {
 public:
  explicit Sought(Words keys) : data_(keys.size()) {
    for (size_t i = 0; i < keys.size(); ++i) {
      PMIX_PDATA_CONSTRUCT(&data_[i]);
      PMIX_LOAD_KEY(data_[i].key, keys[i].c_str());
    }
  }
  ~Sought() {
    for (pmix_pdata_t& one : data_) PMIX_PDATA_DESTRUCT(&one);
  }
  Sought(const Sought&) = delete;
  Sought& operator=(const Sought&) = delete;

  pmix_status_t LookUp(Infos* directives) {
    return PMIx_Lookup(data_.data(), data_.size(), directives->data(),
                       directives->size());
  }
  // Returns the keys without a value.
  std::vector<std::string> Missing() const {
    std::vector<std::string> keys;
    for (const pmix_pdata_t& one : data_) {
      if (one.value.type == PMIX_UNDEF) keys.emplace_back(one.key);
    }
    return keys;
  }
  void Print() const {
    for (const pmix_pdata_t& one : data_) {
      if (one.value.type == PMIX_UNDEF) continue;
      printf("%s: %s\n", one.key, TextOf(one.value).c_str());
    }
  }

 private:
  std::vector<pmix_pdata_t> data_;
};

// Returns the keys in a list of keys and values by turns.
std::vector<std::string> KeysOf(Words pairs) {
  std::vector<std::string> keys;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) keys.push_back(pairs[i]);
  return keys;
}

}  // namespace

int Publish(Words words) {
  Infos infos;
  pmix_persistence_t persistence = PMIX_PERSIST_INDEF;
  if (!AddRange(words[0], &infos) || !ReadPersistence(words[1], &persistence)) {
    return kExitUsage;
  }
  infos.Add(PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
  for (size_t i = 2; i + 1 < words.size(); i += 2) {
    infos.AddText(words[i].c_str(), words[i + 1]);
  }
  const pmix_status_t status = PMIx_Publish(infos.data(), infos.size());
  if (status == PMIX_SUCCESS) return 0;
  return Fail("publish " + Join(KeysOf(words.subspan(2)), ", "), status);
}

int Lookup(Words words) {
  Infos directives;
  if (!AddRange(words[0], &directives)) return kExitUsage;
  if (!words[1].empty()) {
    const int all = 0;
    directives.Add(PMIX_WAIT, &all, PMIX_INT);
  }
  const int timeout = static_cast<int>(strtoul(words[2].c_str(), nullptr, 10));
  if (timeout != 0) directives.Add(PMIX_TIMEOUT, &timeout, PMIX_INT);
  Sought sought(words.subspan(3));
  const pmix_status_t status = sought.LookUp(&directives);
  if (status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS) {
    sought.Print();
  }
  if (status == PMIX_SUCCESS) return 0;
  return Fail("lookup " + Join(sought.Missing(), ", "), status);
}

int Unpublish(Words words) {
  Infos directives;
  if (!AddRange(words[0], &directives)) return kExitUsage;
  char** keys = nullptr;
  for (const std::string& key : words.subspan(1)) {
    PMIx_Argv_append_nosize(&keys, key.c_str());
  }
  const pmix_status_t status =
      PMIx_Unpublish(keys, directives.data(), directives.size());
  PMIx_Argv_free(keys);
  return status == PMIX_SUCCESS ? 0 : Fail("unpublish", status);
}

}  // namespace canopy::tools
