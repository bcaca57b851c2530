// pmix_info: prints the installed release and its parts, with the options of
// the program that OpenPMIx has under this name. It needs no agent.
#include <dlfcn.h>
#include <sys/utsname.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/options/option_parser.h"
#include "client/cli/options/option_setters.h"
#include "client/tools/calls.h"
#include "client/tools/server_options.h"
#include "common/version.h"
#include "pmix_tool.h"

namespace canopy::tools {
namespace {

struct InfoOptions {
  bool help = false;
  bool version = false;
  bool all = false;
  bool arch = false;
  bool config = false;
  bool show_version = false;
  bool parsable = false;
  std::string path;
  std::string color;
};

cli::OptionTable Table(InfoOptions* to) {
  const std::string parameters = "there are no MCA parameters or components";
  return {
      {"help h", 0, "", "print this help", cli::SetFlag(&to->help), true},
      {"version V", 0, "", "print the version", cli::SetFlag(&to->version),
       true},
      {"all a", 0, "", "print everything, with the names of all functions",
       cli::SetFlag(&to->all)},
      {"arch", 0, "", "print the architecture", cli::SetFlag(&to->arch)},
      {"config c", 0, "", "print how programs are built",
       cli::SetFlag(&to->config)},
      {"path", 1, "WHAT",
       "print a path: all, prefix, bindir, libdir, incdir, pkglibdir, mandir",
       cli::SetOneOf(&to->path, {"all", "prefix", "bindir", "libdir", "incdir",
                                 "pkglibdir", "mandir"})},
      {"show-version", 0, "",
       "print versions; 'pmix PART' after it selects full, major, minor or "
       "release",
       cli::SetFlag(&to->show_version)},
      {"parsable parseable", 0, "", "print KEY:VALUE lines for scripts",
       cli::SetFlag(&to->parsable)},
      {"pretty-print", 0, "", "print lines for people (the default)",
       cli::SetFlag(&to->parsable, false)},
      {"color", 1, "WHEN", "accepted; there are no colours",
       cli::SetOneOf(&to->color, {"auto", "never", "always"})},
      Refused("hostname", 0, "the host of the build is not recorded"),
      Refused("param params", 1, parameters),
      Refused("type t", 1, parameters),
      Refused("internal", 0, parameters),
      Refused("show-failed", 0, parameters),
      Refused("selected-only", 0, parameters),
      Refused("pmixmca", 2, parameters),
  };
}

// Prints lines for people, with the names on the left, or for scripts.
class Report {
 public:
  explicit Report(bool parsable) : parsable_(parsable) {}

  void Line(const std::string& name, const std::string& key,
            const std::string& value) const {
    if (parsable_) {
      printf("%s:%s\n", key.c_str(), value.c_str());
    } else {
      printf("%24s: %s\n", name.c_str(), value.c_str());
    }
  }

 private:
  const bool parsable_;
};

// Returns the directory that holds bin, lib and include.
std::filesystem::path Prefix() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path();
}

std::string LibraryFile() {
  Dl_info info{};
  const auto* symbol = reinterpret_cast<const void*>(&PMIx_Get_version);
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  return std::filesystem::absolute(info.dli_fname).lexically_normal();
}

using Part = std::pair<std::string, std::string>;

std::vector<Part> VersionParts() {
  const std::string major = std::to_string(PMIX_VERSION_MAJOR);
  const std::string minor = std::to_string(PMIX_VERSION_MINOR);
  const std::string release = std::to_string(PMIX_VERSION_RELEASE);
  return {{"full", major + "." + minor + "." + release},
          {"major", major},
          {"minor", minor},
          {"release", release}};
}

void ShowVersions(const Report& report) {
  report.Line("Package", "package", std::string("Canopy ") + kVersion);
  report.Line("PMIX", "pmix:version:full", VersionParts()[0].second);
  report.Line("PMIX library", "pmix:version:library", PMIx_Get_version());
}

std::vector<Part> Paths() {
  const std::filesystem::path prefix = Prefix();
  return {{"prefix", prefix},
          {"bindir", prefix / "bin"},
          {"libdir", prefix / "lib"},
          {"incdir", prefix / "include"},
          {"pkglibdir", prefix / "lib" / "canopy"},
          {"mandir", prefix / "share" / "man"}};
}

void ShowPaths(const Report& report, const std::string& which) {
  for (const auto& [name, path] : Paths()) {
    if (which != "all" && which != name) continue;
    std::string title = name;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    report.Line(title, "path:" + name, path);
  }
}

void ShowArch(const Report& report) {
  utsname machine{};
  uname(&machine);
  report.Line("Configured architecture", "config:arch",
              std::string(machine.machine) + "-linux-gnu");
}

void ShowConfig(const Report& report) {
  const std::string lib = Prefix() / "lib";
  report.Line("C compiler version", "compiler:c:version", __VERSION__);
  report.Line("C pointer size", "compiler:c:sizeof:pointer",
              std::to_string(sizeof(void*)));
  report.Line("Build CFLAGS", "option:build:cflags",
              "-I" + (Prefix() / "include").string());
  report.Line("Build LDFLAGS", "option:build:ldflags",
              "-L" + lib + " -Wl,-rpath," + lib);
  report.Line("Build LIBS", "option:build:libs", "-lpmix");
  report.Line("Library", "library:file", LibraryFile());
}

size_t CountOf(const std::string& names) {
  size_t count = names.empty() ? 0 : 1;
  for (const char c : names) count += c == ',' ? 1 : 0;
  return count;
}

// Queries the library, without a server, for the functions of a role.
std::string FunctionsOf(const char* level) {
  Infos qualifiers;
  qualifiers.AddFlag(level);
  Answers answers;
  if (Ask({PMIX_QUERY_ATTRIBUTE_SUPPORT}, &qualifiers, &answers) !=
          PMIX_SUCCESS ||
      answers.count == 0 || answers.infos[0].value.type != PMIX_STRING) {
    return "";
  }
  return answers.infos[0].value.data.string;
}

// Returns the exit code.
int ShowCapabilities(const Report& report, bool names) {
  constexpr std::pair<const char*, const char*> kRoles[] = {
      {"client", PMIX_CLIENT_FUNCTIONS},
      {"tool", PMIX_TOOL_FUNCTIONS},
  };
  Infos alone;
  alone.AddFlag(PMIX_TOOL_DO_NOT_CONNECT);
  pmix_proc_t self;
  const pmix_status_t status =
      PMIx_tool_init(&self, alone.data(), alone.size());
  if (status != PMIX_SUCCESS) return Fail("no capabilities", status);
  for (const auto& [role, key] : kRoles) {
    const std::string functions = FunctionsOf(key);
    report.Line(std::string("Functions of a ") + role,
                std::string("capability:functions:") + role,
                names ? functions : std::to_string(CountOf(functions)));
  }
  (void)PMIx_tool_finalize();
  return 0;
}

int Refuse(const std::string& why) {
  Complain(why + " ('pmix_info --help' lists the options)");
  return kExitUsage;
}

// Splits the form "pmix:major" of "pmix major".
std::vector<std::string> VersionWords(const std::vector<std::string>& words) {
  const size_t colon = words[0].find(':');
  if (words.size() > 1 || colon == std::string::npos) return words;
  return {words[0].substr(0, colon), words[0].substr(colon + 1)};
}

// Prints one part of a version. `words` are the words after --show-version.
int ShowVersionPart(const Report& report,
                    const std::vector<std::string>& words) {
  if (words.size() > 2 || (words[0] != "pmix" && words[0] != "all")) {
    return Refuse("there are versions of 'pmix' only, not of '" + words[0] +
                  "'");
  }
  if (words.size() == 1) {
    ShowVersions(report);
    return 0;
  }
  for (const auto& [name, value] : VersionParts()) {
    if (name != words[1]) continue;
    report.Line("PMIX " + name, "pmix:version:" + name, value);
    return 0;
  }
  return Refuse("a version has no part '" + words[1] + "'");
}

int Show(const InfoOptions& options, const std::vector<std::string>& words) {
  const Report report(options.parsable);
  const bool chosen = options.show_version || options.arch || options.config ||
                      !options.path.empty();
  const bool all = options.all || !chosen;
  if (!words.empty()) return ShowVersionPart(report, VersionWords(words));
  if (all || options.show_version) ShowVersions(report);
  if (all || !options.path.empty()) {
    ShowPaths(report, options.all            ? "all"
                      : options.path.empty() ? "prefix"
                                             : options.path);
  }
  if (all || options.arch) ShowArch(report);
  if (all || options.config) ShowConfig(report);
  return all ? ShowCapabilities(report, options.all) : 0;
}

int Main(const std::vector<std::string>& args) {
  InfoOptions options;
  const cli::OptionTable table = Table(&options);
  const Result<std::vector<std::string>> words =
      cli::ApplyOptions(table, args, cli::RestRule::kBetween);
  if (!words.ok()) return Refuse(std::string(words.status().message()));
  if (options.help) {
    printf("usage: pmix_info [options]\n\nPrints what is installed.\n\n%s",
           cli::OptionHelp(table).c_str());
    return 0;
  }
  if (options.version) {
    printf("pmix_info (Canopy) %s\nPMIx %s\n", kVersion,
           VersionParts()[0].second.c_str());
    return 0;
  }
  if (!words->empty() && !options.show_version) {
    return Refuse("unexpected argument '" + words->front() + "'");
  }
  return Show(options, *words);
}

}  // namespace
}  // namespace canopy::tools

int main(int argc, char** argv) {
  return canopy::tools::WithOutput(
      canopy::tools::Main({argv + (argc > 0 ? 1 : 0), argv + argc}));
}
