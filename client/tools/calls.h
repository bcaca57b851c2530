// What the tools share: arrays of PMIx that are freed in the end, queries and
// how they fail.
#ifndef CANOPY_CLIENT_TOOLS_CALLS_H_
#define CANOPY_CLIENT_TOOLS_CALLS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "pmix_tool.h"

namespace canopy::tools {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Prints "canopy: WHAT" on standard error, one line.
void Complain(const std::string& what);
// The same with the reason; the exit code.
int Fail(const std::string& what, pmix_status_t status);

// Infos that are freed in the end.
class Infos {
 public:
  Infos() = default;
  ~Infos();
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;

  // As PMIX_INFO_LOAD, which copies the value.
  void Add(const char* key, const void* value, pmix_data_type_t type);
  void AddFlag(const char* key) { Add(key, nullptr, PMIX_BOOL); }
  void AddText(const char* key, const std::string& text);
  // None is ignored: who does not know one refuses the call.
  void RequireAll();

  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  std::vector<pmix_info_t> infos_;
};

// The answers to one query, freed in the end.
struct Answers {
  Answers() = default;
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  pmix_info_t* infos = nullptr;
  size_t count = 0;
};

// PMIx_Query_info with one query.
pmix_status_t Ask(const std::vector<std::string>& keys, Infos* qualifiers,
                  Answers* answers);

// The key of an attribute by its name or by itself.
std::string KeyOf(const std::string& name_or_key);
// The other way: the name, where it has one.
std::string NameOf(const char* key);
// A value without its type.
std::string TextOf(const pmix_value_t& value);

// The jobs of the user, as the agent knows them.
pmix_status_t Namespaces(std::vector<std::string>* names);
// Their processes; nothing for a job that has ended meanwhile.
pmix_status_t ProcessesOf(const std::string& nspace,
                          std::vector<pmix_proc_info_t>* rows, Answers* owner);

// An event by its number, or its name with or without PMIX_. False: there is
// none.
bool ReadEvent(const std::string& text, pmix_status_t* code);
// Of data, events and lookups: "session", "local" and so on, or the number.
bool ReadRange(const std::string& text, pmix_data_range_t* range);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_CALLS_H_
