// Helpers that the tools share: owned PMIx arrays, queries and error messages.
#ifndef CANOPY_CLIENT_TOOLS_CALLS_H_
#define CANOPY_CLIENT_TOOLS_CALLS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "pmix_tool.h"

namespace canopy::tools {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Prints "canopy: WHAT" on standard error, on one line.
void Complain(const std::string& what);
// Prints `what` with the reason, and returns the exit code.
int Fail(const std::string& what, pmix_status_t status);

// Flushes standard output. Returns `code`, or, if the output could not be
// written, reports the reason and returns kExitFailure.
int WithOutput(int code);

// Owns an array of infos.
class Infos {
 public:
  Infos() = default;
  ~Infos();
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;

  // Adds an info as PMIX_INFO_LOAD does, which copies the value.
  void Add(const char* key, const void* value, pmix_data_type_t type);
  void AddFlag(const char* key) { Add(key, nullptr, PMIX_BOOL); }
  void AddText(const char* key, const std::string& text);
  // Marks all infos as required, so that a server which does not know one
  // rejects the call.
  void RequireAll();

  pmix_info_t* data() { return infos_.data(); }
  const pmix_info_t* data() const { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  std::vector<pmix_info_t> infos_;
};

// Owns the results of one query.
struct Answers {
  Answers() = default;
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  pmix_info_t* infos = nullptr;
  size_t count = 0;
};

// Calls PMIx_Query_info with one query.
pmix_status_t Ask(const std::vector<std::string>& keys, Infos* qualifiers,
                  Answers* answers);

// Returns the key of an attribute, given its name or its key.
std::string KeyOf(const std::string& name_or_key);
// Returns the name of an attribute, or the key if it has no name.
std::string NameOf(const char* key);
// Returns a value as text, without its type.
std::string TextOf(const pmix_value_t& value);

// Returns the jobs of the user that the agent knows.
pmix_status_t Namespaces(std::vector<std::string>* names);
// Finds the processes of a job; *rows is empty if the job has ended meanwhile.
// *owner keeps the memory of the rows.
pmix_status_t ProcessesOf(const std::string& nspace,
                          std::vector<pmix_proc_info_t>* rows, Answers* owner);

// Parses an event from its number, or from its name with or without PMIX_.
// Returns false if there is no such event.
bool ReadEvent(const std::string& text, pmix_status_t* code);
// Parses the range of data, events and lookups: "session", "local" and so on,
// or the number.
bool ReadRange(const std::string& text, pmix_data_range_t* range);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_CALLS_H_
