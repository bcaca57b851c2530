// The tools pps, pquery, pattrs and plookup, which only request information.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

#include "client/cli/options/option_setters.h"
#include "client/tools/calls.h"
#include "client/tools/commands.h"
#include "client/tools/reference_tool.h"
#include "client/tools/reference_words.h"
#include "common/string_util.h"

namespace canopy::tools {
namespace {

constexpr uint32_t kMaxSeconds = INT32_MAX;

// -------------------------------------------------------------------- pps ---

class Pps : public ReferenceTool {
 public:
  cli::OptionTable Options() override {
    return {{"nodes", 0, "", "list the nodes and the ranks on each of them",
             cli::SetFlag(&nodes_)}};
  }
  Status Check(const std::vector<std::string>& words) override {
    return NoWords(words);
  }

  int Run(const std::vector<std::string>& /*words*/) override {
    std::vector<std::string> names;
    const pmix_status_t status = Namespaces(&names);
    if (status != PMIX_SUCCESS) return Fail("jobs", status);
    std::string text;
    for (const std::string& name : names) {
      text += (text.empty() ? "" : ",") + name;
    }
    printf("Active nspaces: %s\n\n", text.empty() ? "NONE" : text.c_str());
    if (names.empty()) return 0;
    return nodes_ ? PrintNodes(names) : PrintProcesses(names);
  }

 private:
  static int PrintNodes(const std::vector<std::string>& names) {
    printf("%-20s %-20s %s\n", "JOB", "NODE", "RANKS");
    for (const std::string& name : names) {
      Answers owner;
      std::vector<pmix_proc_info_t> rows;
      const pmix_status_t status = ProcessesOf(name, &rows, &owner);
      if (status != PMIX_SUCCESS) return Fail(name, status);
      std::map<std::string, std::string> ranks;
      for (const pmix_proc_info_t& row : rows) {
        std::string& list = ranks[row.hostname == nullptr ? "?" : row.hostname];
        list += (list.empty() ? "" : ",") + std::to_string(row.proc.rank);
      }
      for (const auto& [node, list] : ranks) {
        printf("%-20s %-20s %s\n", name.c_str(), node.c_str(), list.c_str());
      }
    }
    return 0;
  }

  bool nodes_ = false;
};

// --------------------------------------------- functions and attributes ---

struct LevelRow {
  std::string_view name;
  const char* functions;
  const char* attributes;
};

constexpr LevelRow kLevels[] = {
    {"client", PMIX_CLIENT_FUNCTIONS, PMIX_CLIENT_ATTRIBUTES},
    {"server", PMIX_SERVER_FUNCTIONS, PMIX_SERVER_ATTRIBUTES},
    {"tool", PMIX_TOOL_FUNCTIONS, PMIX_TOOL_ATTRIBUTES},
    {"host", PMIX_HOST_FUNCTIONS, PMIX_HOST_ATTRIBUTES},
};
constexpr size_t kNumLevels = std::size(kLevels);

// The options --client FUNCTIONS, --client-fns and the like.
class Support {
 public:
  cli::OptionTable Options() {
    return {
        {"client", 1, "FUNCTIONS",
         "list the attributes of these client functions, or\n"
         "of all",
         cli::SetText(&attributes_[0])},
        {"server", 1, "FUNCTIONS", "likewise, of server functions",
         cli::SetText(&attributes_[1])},
        {"tool", 1, "FUNCTIONS", "likewise, of tool functions",
         cli::SetText(&attributes_[2])},
        {"host", 1, "FUNCTIONS",
         "likewise, of functions of the host environment",
         cli::SetText(&attributes_[3])},
        {"client-fns", 0, "", "list the functions of a client",
         cli::SetFlag(&functions_[0])},
        {"server-fns", 0, "", "list the functions of a server",
         cli::SetFlag(&functions_[1])},
        {"tool-fns", 0, "", "list the functions of a tool",
         cli::SetFlag(&functions_[2])},
        {"host-fns", 0, "", "list the functions of the host environment",
         cli::SetFlag(&functions_[3])},
    };
  }

  bool wanted() const {
    return std::ranges::any_of(attributes_,
                               [](const auto& a) { return !a.empty(); }) ||
           std::ranges::count(functions_, true) > 0;
  }

  int Print() {
    int code = 0;
    for (size_t level = 0; level < kNumLevels; ++level) {
      if (functions_[level]) code |= PrintFunctions(kLevels[level]);
      const std::string& of = attributes_[level];
      if (!of.empty()) code |= PrintAttributes(kLevels[level], of);
    }
    return code;
  }

 private:
  static pmix_status_t Functions(const LevelRow& level,
                                 std::vector<std::string>* names) {
    Infos qualifiers;
    qualifiers.AddFlag(level.functions);
    Answers answers;
    const pmix_status_t status =
        Ask({PMIX_QUERY_ATTRIBUTE_SUPPORT}, &qualifiers, &answers);
    if (status != PMIX_SUCCESS) return status;
    const pmix_value_t& value = answers.infos[0].value;
    if (value.type != PMIX_STRING) return PMIX_ERR_TYPE_MISMATCH;
    *names = Split(value.data.string, ',');
    return PMIX_SUCCESS;
  }

  static int PrintFunctions(const LevelRow& level) {
    std::vector<std::string> names;
    const pmix_status_t status = Functions(level, &names);
    const std::string title = std::string(level.name) + " functions";
    if (status != PMIX_SUCCESS) return Fail(title, status);
    printf("%s:\n", title.c_str());
    for (const std::string& name : names) printf("  %s\n", name.c_str());
    return 0;
  }

  static int PrintAttributes(const LevelRow& level, const std::string& of) {
    const std::string title = std::string(level.name) + " attributes";
    std::vector<std::string> keys = Split(of, ',');
    if (of == "all") {
      const pmix_status_t status = Functions(level, &keys);
      if (status != PMIX_SUCCESS) return Fail(title, status);
    }
    keys.insert(keys.begin(), PMIX_QUERY_ATTRIBUTE_SUPPORT);
    Infos qualifiers;
    qualifiers.AddFlag(level.attributes);
    Answers answers;
    const pmix_status_t status = Ask(keys, &qualifiers, &answers);
    // In a request for all functions, functions without attributes make the
    // result partial.
    if (status != PMIX_SUCCESS && status != PMIX_ERR_PARTIAL_SUCCESS) {
      return Fail(title, status);
    }
    printf("%s:\n", title.c_str());
    for (size_t i = 0; i < answers.count; ++i) {
      PrintFunction(answers.infos[i]);
    }
    return of == "all" || status == PMIX_SUCCESS ? 0 : Fail(title, status);
  }

  static void PrintFunction(const pmix_info_t& function) {
    printf("  %s\n", function.key);
    if (function.value.type != PMIX_DATA_ARRAY) return;
    const pmix_data_array_t& levels = *function.value.data.darray;
    const auto* const infos = static_cast<const pmix_info_t*>(levels.array);
    for (size_t i = 0; i < levels.size; ++i) {
      const pmix_data_array_t& rows = *infos[i].value.data.darray;
      const auto* const attributes =
          static_cast<const pmix_regattr_t*>(rows.array);
      for (size_t k = 0; k < rows.size; ++k) {
        printf("    %-38s %-28s %s\n", attributes[k].name, attributes[k].string,
               PMIx_Data_type_string(attributes[k].type));
      }
    }
  }

  std::string attributes_[kNumLevels];
  bool functions_[kNumLevels] = {};
};

class Pattrs : public ReferenceTool {
 public:
  cli::OptionTable Options() override { return support_.Options(); }
  Status Check(const std::vector<std::string>& words) override {
    if (!support_.wanted()) {
      return Status(kErrBadParam, "nothing is asked for");
    }
    return NoWords(words);
  }
  int Run(const std::vector<std::string>& /*words*/) override {
    return support_.Print();
  }

 private:
  Support support_;
};

// ----------------------------------------------------------------- pquery ---

// Adds a qualifier whose value has the type that its key or its text implies.
void AddQualifier(const std::string& name, const std::string& text,
                  Infos* qualifiers) {
  const std::string key = KeyOf(name);
  const auto number = ParseNumber(text);
  if (text.empty() || text == "true") {
    qualifiers->AddFlag(key.c_str());
  } else if (key == PMIX_RANK && number) {
    qualifiers->Add(key.c_str(), &*number, PMIX_PROC_RANK);
  } else if ((key == PMIX_APPNUM || key == PMIX_NODEID ||
              key == PMIX_SESSION_ID) &&
             number) {
    qualifiers->Add(key.c_str(), &*number, PMIX_UINT32);
  } else {
    qualifiers->AddText(key.c_str(), text);
  }
}

class Pquery : public ReferenceTool {
 public:
  cli::OptionTable Options() override { return support_.Options(); }

  // Reads the queries. Without a word, the tool lists the keys.
  Status Check(const std::vector<std::string>& words) override {
    for (const std::string& word : words) {
      auto query = ReadQueryWord(word);
      if (!query) {
        return Status(kErrBadParam,
                      "'" + word + "' is not KEY[QUALIFIER=VALUE;...]");
      }
      queries_.push_back(*std::move(query));
    }
    if (queries_.empty() && !support_.wanted()) {
      queries_.push_back({"PMIX_QUERY_SUPPORTED_KEYS", {}});
    }
    return Status();
  }

  int Run(const std::vector<std::string>& /*words*/) override {
    int code = support_.wanted() ? support_.Print() : 0;
    for (const QueryWord& query : queries_) code |= Print(query);
    return code;
  }

 private:
  static int Print(const QueryWord& query) {
    Infos qualifiers;
    for (const auto& [name, value] : query.qualifiers) {
      AddQualifier(name, value, &qualifiers);
    }
    qualifiers.RequireAll();
    Answers answers;
    const pmix_status_t status = Ask({KeyOf(query.key)}, &qualifiers, &answers);
    if (status != PMIX_SUCCESS) return Fail(query.key, status);
    for (size_t i = 0; i < answers.count; ++i) {
      printf("%s: %s\n", query.key.c_str(),
             TextOf(answers.infos[i].value).c_str());
    }
    return 0;
  }

  Support support_;
  std::vector<QueryWord> queries_;
};

// ---------------------------------------------------------------- plookup ---

class Plookup : public ReferenceTool {
 public:
  cli::OptionTable Options() override {
    return {{"timeout", 1, "SECONDS", "wait no longer than this",
             cli::SetSeconds(&timeout_s_, 1, kMaxSeconds)},
            {"wait", 0, "", "wait until all keys are published",
             cli::SetFlag(&waits_)}};
  }
  Status Check(const std::vector<std::string>& words) override {
    return words.empty() ? Status(kErrBadParam, "no key is given") : Status();
  }
  int Run(const std::vector<std::string>& words) override {
    std::vector<std::string> all = {
        "session", waits_ ? "wait" : "",
        timeout_s_ == 0 ? "" : std::to_string(timeout_s_)};
    all.insert(all.end(), words.begin(), words.end());
    return Lookup(all, Format::kText);
  }

 private:
  uint32_t timeout_s_ = 0;
  bool waits_ = false;
};

}  // namespace

std::unique_ptr<ReferenceTool> MakePps() { return std::make_unique<Pps>(); }
std::unique_ptr<ReferenceTool> MakePquery() {
  return std::make_unique<Pquery>();
}
std::unique_ptr<ReferenceTool> MakePattrs() {
  return std::make_unique<Pattrs>();
}
std::unique_ptr<ReferenceTool> MakePlookup() {
  return std::make_unique<Plookup>();
}

}  // namespace canopy::tools
