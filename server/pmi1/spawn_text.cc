#include "server/pmi1/spawn_text.h"

#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_types.h"
#include "server/pmi1/spawn_hints.h"

namespace canopy::pmi1 {
namespace {

constexpr std::string_view kBegin = "mcmd=spawn";
constexpr std::string_view kEnd = "endcmd";

// The lines NAME=VALUE of one command.
using Fields = std::map<std::string, std::string, std::less<>>;

struct App {
  std::vector<std::string> argv;
  int maxprocs = 0;
  InfoList hints;
};

struct Spawn {
  std::vector<App> apps;
  std::vector<std::string> env;  // of every process
};

std::string_view NextLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(text->size(), line.size() + 1));
  return line;
}

std::string_view FieldOf(const Fields& fields, const std::string& name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string_view() : std::string_view(it->second);
}

// Nothing: it is not there, or is no number.
std::optional<int> NumberOf(const Fields& fields, const std::string& name) {
  const std::string_view text = FieldOf(fields, name);
  int number = 0;
  const auto end =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

// As many as NAME_num says, but no more than there are.
template <typename Use>
void ForPairs(const Fields& fields, const std::string& name, Use use) {
  const int count = NumberOf(fields, name + "_num").value_or(0);
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const auto key = fields.find(name + "_key_" + number);
    if (key == fields.end()) return;
    use(key->second, FieldOf(fields, name + "_val_" + number));
  }
}

Status ReadApp(const Fields& fields, App* app) {
  const std::string_view program = FieldOf(fields, "execname");
  if (program.empty()) return Status(kErrBadParam, "no execname");
  app->argv.emplace_back(program);
  const int arguments = NumberOf(fields, "argcnt").value_or(0);
  for (int i = 1; i <= arguments; ++i) {
    const auto argument = fields.find("arg" + std::to_string(i));
    if (argument == fields.end()) return Status(kErrBadParam, "no such arg");
    app->argv.push_back(argument->second);
  }
  app->maxprocs = NumberOf(fields, "nprocs").value_or(0);
  if (app->maxprocs < 1) return Status(kErrBadParam, "no nprocs");
  ForPairs(fields, "info", [&](std::string_view key, std::string_view value) {
    const char* const attribute = AttributeOfHint(key);
    if (attribute != nullptr) app->hints.Add(attribute, Value::String(value));
  });
  return Status();
}

// Each command repeats the pairs.
void ReadPreput(const Fields& fields, Spawn* spawn) {
  if (!spawn->env.empty()) return;
  ForPairs(fields, "preput", [&](std::string_view key, std::string_view value) {
    spawn->env.push_back(PreputEntry(spawn->env.size(), key, value));
  });
}

Result<Spawn> Read(std::string_view text) {
  Spawn spawn;
  Fields fields;
  while (!text.empty()) {
    const std::string_view line = NextLine(&text);
    if (line == kEnd) {
      const Status status = ReadApp(fields, &spawn.apps.emplace_back());
      if (!status.ok()) return status;
      ReadPreput(fields, &spawn);
      fields.clear();
    } else if (const size_t equals = line.find('='); equals != line.npos) {
      fields.insert_or_assign(std::string(line.substr(0, equals)),
                              std::string(line.substr(equals + 1)));
    }
  }
  return spawn;
}

// The pointers are good for as long as the texts are unchanged.
std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

int SpawnText::Add(std::string_view line) {
  if (text_.size() + line.size() + 1 > kMaxSpawnBytes) return kErrOutOfResource;
  if (complete() || (!in_command_ && line != kBegin)) return kErrBadParam;
  text_.append(line).push_back('\n');
  if (line == kBegin) {
    in_command_ = true;
    last_ = true;
    total_.clear();
  } else if (line.starts_with("totspawns=")) {
    total_ = line.substr(line.find('=') + 1);
  } else if (line.starts_with("spawnssofar=")) {
    last_ = total_.empty() || line.substr(line.find('=') + 1) == total_;
  } else if (line == kEnd) {
    in_command_ = false;
  }
  return kSuccess;
}

std::string_view SpawnText::last_line() const {
  if (text_.empty()) return {};
  const std::string_view lines(text_.data(), text_.size() - 1);
  const size_t before = lines.rfind('\n');
  return before == lines.npos ? lines : lines.substr(before + 1);
}

Result<std::string> SpawnCallOf(std::string_view text) {
  Result<Spawn> read = Read(text);
  if (!read.ok()) return read.status();
  Spawn spawn = std::move(read).value();
  const std::vector<char*> env = PointersTo(spawn.env);
  std::vector<std::vector<char*>> argvs;
  std::vector<pmix_app_t> apps(spawn.apps.size());
  for (size_t i = 0; i < apps.size(); ++i) {
    App& app = spawn.apps[i];
    argvs.push_back(PointersTo(app.argv));
    apps[i].cmd = app.argv[0].data();
    apps[i].argv = argvs.back().data();
    apps[i].env = const_cast<char**>(env.data());
    apps[i].maxprocs = app.maxprocs;
    apps[i].info = app.hints.mutable_data();
    apps[i].ninfo = app.hints.size();
  }
  Encoder encoder;
  encoder.PutSize(0);
  encoder.PutSize(apps.size());
  for (const pmix_app_t& app : apps) encoder.PutElement(PMIX_APP, &app);
  if (!encoder.ok()) return encoder.status();
  return encoder.Take();
}

}  // namespace canopy::pmi1
