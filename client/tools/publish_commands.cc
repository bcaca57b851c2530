// The commands publish, lookup and unpublish.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/base/json.h"
#include "client/tools/calls.h"
#include "client/tools/commands.h"
#include "client/tools/value_json.h"
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
  cli::Json ToJson(pmix_status_t status) const {
    cli::Json document;
    document["values"] = cli::Json::array();
    for (const pmix_pdata_t& one : data_) {
      if (one.value.type == PMIX_UNDEF) continue;
      cli::Json value;
      value["key"] = one.key;
      value["value"] = ValueJson(one.value);
      document["values"].push_back(std::move(value));
    }
    document["missing"] = Missing();
    AddStatus(status, &document);
    return document;
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

// Returns the keys of a list in which keys and values alternate.
std::vector<std::string> KeysOf(Words pairs) {
  std::vector<std::string> keys;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) keys.push_back(pairs[i]);
  return keys;
}

// Reports the result of a call that changes these keys.
int Conclude(const std::string& what, const std::vector<std::string>& keys,
             Format format, pmix_status_t status) {
  if (format == Format::kText) {
    if (status == PMIX_SUCCESS) return 0;
    if (status == PMIX_ERR_DUPLICATE_KEY) {
      Complain((keys.size() == 1 ? "already published: "
                                 : "already published: one of ") +
               Join(keys, ", "));
      return kExitFailure;
    }
    return Fail(what + " " + Join(keys, ", "), status);
  }
  cli::Json document;
  document["keys"] = keys;
  AddStatus(status, &document);
  return PrintDocument(document, status);
}

}  // namespace

int Publish(Words words, Format format) {
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
  return Conclude("publish", KeysOf(words.subspan(2)), format, status);
}

int Lookup(Words words, Format format) {
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
  if (format == Format::kJson)
    return PrintDocument(sought.ToJson(status), status);
  if (status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS) {
    sought.Print();
  }
  if (status == PMIX_SUCCESS) return 0;
  const std::string missing = Join(sought.Missing(), ", ");
  if (status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_PARTIAL_SUCCESS) {
    Complain("not published: " + missing);
    return kExitFailure;
  }
  return Fail("lookup " + missing, status);
}

int Unpublish(Words words, Format format) {
  Infos directives;
  if (!AddRange(words[0], &directives)) return kExitUsage;
  char** keys = nullptr;
  for (const std::string& key : words.subspan(1)) {
    PMIx_Argv_append_nosize(&keys, key.c_str());
  }
  const pmix_status_t status =
      PMIx_Unpublish(keys, directives.data(), directives.size());
  PMIx_Argv_free(keys);
  return Conclude("unpublish", {words.begin() + 1, words.end()}, format,
                  status);
}

}  // namespace canopy::tools
