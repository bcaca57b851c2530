#include "client/pmi/spawn.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace canopy::pmi {

namespace {

// Spawned processes inherit these variables, whose names end with the number of
// the pair. Any library or wire protocol of the processes finds the pairs
// there.
constexpr char kPreput[] = "PMI_PREPUT_";

struct Hint {
  std::string_view name;
  const char* attribute;
};

constexpr Hint kHints[] = {
    {"host", PMIX_HOST},      {"hostfile", PMIX_HOSTFILE},
    {"wdir", PMIX_WDIR},      {"add-host", PMIX_ADD_HOST},
    {"map_by", PMIX_MAPBY},   {"add-hostfile", PMIX_ADD_HOSTFILE},
    {"bind_to", PMIX_BINDTO}, {"rank_by", PMIX_RANKBY},
    {"path", PMIX_PREFIX},
};

const char* AttributeOf(std::string_view name) {
  for (const Hint& hint : kHints) {
    if (hint.name == name) return hint.attribute;
  }
  return nullptr;
}

void AddHints(const KeyValues& hints, pmix_app_t* app) {
  std::vector<std::pair<const char*, const char*>> known;
  for (const auto& [name, value] : hints) {
    const char* attribute = AttributeOf(name);
    if (attribute != nullptr) known.emplace_back(attribute, value.c_str());
  }
  if (known.empty()) return;
  PMIX_INFO_CREATE(app->info, known.size());
  app->ninfo = known.size();
  for (size_t i = 0; i < known.size(); ++i) {
    PMIX_INFO_LOAD(&app->info[i], known[i].first, known[i].second, PMIX_STRING);
  }
}

// Returns the texts as an array for a pmix_app_t, whose arrays the library
// frees with free().
char** CopyOf(const std::vector<std::string>& texts) {
  auto** out = static_cast<char**>(calloc(texts.size() + 1, sizeof(char*)));
  if (out == nullptr) return nullptr;
  for (size_t i = 0; i < texts.size(); ++i) out[i] = strdup(texts[i].c_str());
  return out;
}

void Fill(const Command& command, const std::vector<std::string>& environment,
          pmix_app_t* app) {
  std::vector<std::string> argv = {command.program};
  argv.insert(argv.end(), command.arguments.begin(), command.arguments.end());
  app->cmd = strdup(command.program.c_str());
  app->argv = CopyOf(argv);
  app->env = CopyOf(environment);
  app->maxprocs = command.count;
  AddHints(command.hints, app);
}

std::vector<std::string> EnvironmentOf(const KeyValues& preput) {
  std::vector<std::string> out;
  for (const auto& [key, value] : preput) {
    out.push_back(kPreput + std::to_string(out.size()) + "=" + key + "=" +
                  value);
  }
  return out;
}

}  // namespace

pmix_status_t Spawn(const std::vector<Command>& commands,
                    const KeyValues& preput, std::string* job) {
  pmix_app_t* apps = nullptr;
  PMIX_APP_CREATE(apps, commands.size());
  if (apps == nullptr) return PMIX_ERR_NOMEM;
  const std::vector<std::string> environment = EnvironmentOf(preput);
  for (size_t i = 0; i < commands.size(); ++i) {
    Fill(commands[i], environment, &apps[i]);
  }
  pmix_nspace_t nspace = "";
  const pmix_status_t status =
      PMIx_Spawn(nullptr, 0, apps, commands.size(), nspace);
  PMIX_APP_FREE(apps, commands.size());
  if (status == PMIX_SUCCESS) *job = nspace;
  return status;
}

std::optional<std::string> PreputValue(const std::string& key) {
  for (size_t i = 0;; ++i) {
    const char* pair = getenv((kPreput + std::to_string(i)).c_str());
    if (pair == nullptr) return std::nullopt;
    const std::string_view text = pair;
    if (text.starts_with(key) && text.substr(key.size()).starts_with('=')) {
      return std::string(text.substr(key.size() + 1));
    }
  }
}

}  // namespace canopy::pmi
